package recorder

import (
	"fmt"
	"time"
)

// Played is what came of playing a recording.
type Played struct {
	Accounts, Polls, Events int // that were played; the polls also where they differ
	// LeftOut are polls that cannot be played: of queries that are searched for, and of
	// accounts before the first poll whose state is known.
	LeftOut int
	// Differences are the first decision of each account that is not as it was recorded,
	// in the order of their times. Its later polls are not played.
	Differences []Difference
}

// Difference is a decision that is not as it was recorded.
type Difference struct {
	Target             string    // name in the journal, as in the recording
	Source             string    // the platform, "" where there is only one
	At                 time.Time // when the poll was due
	Poll               int       // of the account in this run, from 1
	Field              string    // such as "decided.events[0].detected"
	Recorded, Replayed string    // as JSON, cut to 400 bytes; "" where there is nothing
}

func (d Difference) String() string {
	target := d.Target
	if d.Source != "" {
		target = d.Source + "/" + target
	}
	return fmt.Sprintf("%s, poll %d, due at %s: %s\n\trecorded %s\n\treplayed %s", target, d.Poll, d.At.Format(time.RFC3339Nano), d.Field, or(d.Recorded), or(d.Replayed))
}

func or(s string) string {
	if s == "" {
		return "nothing"
	}
	return s
}

// Play gives the recorded answers to the engine's code of today, at the times at which
// they came, and compares what it decides. Time is the recording's: nothing waits. The
// error says what makes the recording impossible to play.
func (rec *Recording) Play() (Played, error) {
	var p Played
	type target struct {
		run int
		key string
	}
	open, streamed := map[target]*account{}, map[target]bool{}
	planned := map[int]bool{} // runs whose schedule plans each poll: no budget sets the pace
	for _, l := range rec.lines {
		if l.Poll != nil {
			at := target{l.Poll.Run, l.Poll.Key}
			streamed[at] = streamed[at] || l.Poll.Given.Covered || l.Poll.Given.Pushed
			planned[l.Poll.Run] = planned[l.Poll.Run] || !l.Poll.Decided.Next.IsZero()
		}
	}
	for n := range rec.lines {
		l := &rec.lines[n]
		if l.Released != nil {
			delete(open, target{l.Released.Run, l.Released.Key})
		}
		pl := l.Poll
		if pl == nil {
			continue
		}
		at := target{pl.Run, pl.Key}
		a := open[at]
		if pl.Query || a == nil && pl.Given.Pushed {
			p.LeftOut++
			continue
		}
		if a == nil {
			var err error
			if a, err = newAccount(rec.runs[pl.Run], pl); err != nil {
				return p, err
			}
			a.scheduled = planned[pl.Run] && !streamed[at]
			open[at] = a
			p.Accounts++
		}
		if a.differs {
			p.LeftOut++
			continue
		}
		p.Polls++
		p.Events += len(pl.Decided.Events)
		if d := a.play(pl); d != nil {
			a.differs = true
			p.Differences = append(p.Differences, *d)
		}
	}
	return p, nil
}
