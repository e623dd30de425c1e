package recorder

import (
	"fmt"
	"time"
)

// Played is what came of playing a recording.
type Played struct {
	// Accounts is how many accounts were played, and Queries how many queries that are
	// searched for. Polls is how many polls of them were played, also where these differ, and
	// Events how many events the recording has of these polls.
	Accounts, Queries, Polls, Events int
	// LeftOut are polls that cannot be played: posts of a stream before the first poll of
	// their target, and what follows a difference.
	LeftOut int
	// Differences are the first decision of each target that is not as it was recorded,
	// in the order of their times. Its later polls are not played.
	Differences []Difference
}

// Difference is a decision that is not as it was recorded.
type Difference struct {
	Target             string    // name in the journal, as in the recording
	Source             string    // the platform, "" where there is only one
	At                 time.Time // when the poll was due
	Poll               int       // of the target in this run, from 1
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
	type place struct {
		run int
		key string
	}
	open, streamed := map[place]*player{}, map[place]bool{}
	planned := map[int]bool{} // runs whose schedule plans each poll of an account: no budget sets the pace
	for _, l := range rec.lines {
		if l.Poll != nil {
			at := place{l.Poll.Run, l.Poll.Key}
			streamed[at] = streamed[at] || l.Poll.Given.Covered || l.Poll.Given.Pushed
			planned[l.Poll.Run] = planned[l.Poll.Run] || !l.Poll.Query && !l.Poll.Decided.Next.IsZero()
		}
	}
	for n := range rec.lines {
		l := &rec.lines[n]
		if l.Released != nil {
			delete(open, place{l.Released.Run, l.Released.Key})
		}
		pl := l.Poll
		if pl == nil {
			continue
		}
		at := place{pl.Run, pl.Key}
		a := open[at]
		if a == nil && pl.Given.Pushed {
			p.LeftOut++
			continue
		}
		if g := &pl.Given; pl.Query && (g.Before.Search == nil || g.Recalled == nil || g.Recalled.Horizon <= 0) {
			return p, fmt.Errorf("recorder: poll of %q due at %s: what the query remembers is missing", pl.Key, g.At.Format(time.RFC3339Nano))
		}
		if a == nil {
			var err error
			if a, err = newPlayer(rec.runs[pl.Run], pl); err != nil {
				return p, err
			}
			a.scheduled = (pl.Query || planned[pl.Run]) && !streamed[at]
			open[at] = a
			if pl.Query {
				p.Queries++
			} else {
				p.Accounts++
			}
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
