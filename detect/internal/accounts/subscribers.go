package accounts

import (
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect/internal/interest"
	"github.com/streamwatch/streamwatch/detect/internal/poll"
	"github.com/streamwatch/streamwatch/detect/internal/schedule"
)

// Subscriber is one source's interest in an account.
type Subscriber struct {
	want int32
	// Fresh: the subscriber may lack posts that the window has. It gets these, too, until
	// a whole poll was made for it.
	Fresh   bool
	covered bool // fresh, and the poll under way is made for it
}

// Each calls fn for each subscriber of an account, with its source and the time from
// which on posts are for it.
func (t *Table) Each(slot int32, fn func(s Subscriber, src *Source, since time.Time)) {
	tg := t.At(slot)
	if tg.want < 0 {
		return
	}
	call := func(s Subscriber) {
		w := &t.wants.list[s.want]
		fn(s, w.source, w.since)
	}
	call(tg.first())
	if tg.Is(shared) {
		for _, s := range t.more[slot] {
			call(s)
		}
	}
}

// change replaces each subscriber by what fn returns for it.
func (t *Table) change(slot int32, fn func(Subscriber) Subscriber) {
	tg := t.At(slot)
	if tg.want < 0 {
		return
	}
	tg.setFirst(fn(tg.first()))
	if tg.Is(shared) {
		more := t.more[slot]
		for i := range more {
			more[i] = fn(more[i])
		}
	}
}

func (t *Table) subscribers(slot int32) int {
	tg := t.At(slot)
	switch {
	case tg.want < 0:
		return 0
	case !tg.Is(shared):
		return 1
	}
	return 1 + len(t.more[slot])
}

// Asker returns the Asker that decides which subscribers of an account want a post.
func (t *Table) Asker(slot int32) interest.Asker { return t.index.Asker(t.subscribers(slot)) }

// correct corrects the beginnings of subscribers that were stamped by a clock which was set back
// since. A whole poll was made for them: what was published since the last one is for them.
func (t *Table) correct(slot int32, env *poll.Env) {
	read, latest := t.At(slot).Since.Time(), env.Now().Add(poll.Differ)
	t.change(slot, func(s Subscriber) Subscriber {
		if w := t.wants.list[s.want]; !s.Fresh && w.since.After(latest) {
			t.wants.drop(s.want)
			s.want = t.wants.take(w.source, env.Begins(w.since, read, poll.Differ), w.from)
		}
		return s
	})
}

// AnyFresh reports whether a subscriber is fresh.
func (t *Table) AnyFresh(slot int32) (any bool) {
	t.Each(slot, func(s Subscriber, _ *Source, _ time.Time) { any = any || s.Fresh })
	return any
}

// Cover notes that the poll that begins is made for the subscribers that are fresh now.
func (t *Table) Cover(slot int32) {
	t.change(slot, func(s Subscriber) Subscriber {
		s.covered = s.Fresh
		return s
	})
}

// Covered notes that this poll was whole: its subscribers are not fresh any more.
func (t *Table) Covered(slot int32) {
	if !t.At(slot).Is(fresh | shared) {
		return
	}
	t.change(slot, func(s Subscriber) Subscriber {
		if s.covered {
			s.Fresh, s.covered = false, false
		}
		return s
	})
}

// Uncovered returns the earliest time from which on a subscriber that joined during the
// poll lacks posts: its beginning, or the time up to which the account was read for it,
// whichever is later. ok is false if none joined.
func (t *Table) Uncovered(slot int32) (since time.Time, ok bool) {
	tg := t.At(slot)
	t.Each(slot, func(s Subscriber, src *Source, from time.Time) {
		if until := latest(src.read, t.wants.list[s.want].from); until.After(from) {
			from = until
		}
		if found := tg.Since.Time(); src.resumes && tg.Is(Cold) && found.After(from) {
			from = found
		}
		if s.Fresh && !s.covered && (!ok || from.Before(since)) {
			since, ok = from, true
		}
	})
	return since, ok
}

// Interval returns the shortest interval that a subscriber of an account asks for; 0 for
// none.
func (t *Table) Interval(slot int32) (shortest time.Duration) {
	tg := t.At(slot)
	if tg.want < 0 {
		return 0
	}
	shortest = t.wants.list[tg.want].interval
	if tg.Is(shared) {
		for _, s := range t.more[slot] {
			if iv := t.wants.list[s.want].interval; iv > 0 && (shortest == 0 || iv < shortest) {
				shortest = iv
			}
		}
	}
	return shortest
}

// MonitorInterval returns the shortest interval that a monitor asks for; 0 for none.
func (t *Table) MonitorInterval(slot int32) (shortest time.Duration) {
	t.Each(slot, func(_ Subscriber, src *Source, _ time.Time) {
		if src.Kind != deliver.SourceRule && src.interval > 0 && (shortest == 0 || src.interval < shortest) {
			shortest = src.interval
		}
	})
	return shortest
}

// Ask sums up what the subscribers of an account ask for.
func (t *Table) Ask(slot int32) (a schedule.Ask) {
	var most float64 // the highest weight, whose owner is returned; of several owners the first by name
	a.Interval = t.Interval(slot)
	t.Each(slot, func(_ Subscriber, src *Source, _ time.Time) {
		a.Weight += src.Weight
		if src.Weight > most || src.Weight == most && src.Owner < a.Owner {
			most, a.Owner = src.Weight, src.Owner
		}
	})
	return a
}

// Cutoff returns how far back the next poll must read: by the overlap before the last
// complete poll; for a fresh subscriber to its beginning; and never beyond the earliest
// beginning of all subscribers. A cold account is read back over the overlap alone: after a
// start all subscribers are fresh, and the process before has dealt with earlier posts.
//
// ahead is how far our clock is ahead of the upstream's: the poll reads back so much further.
func (t *Table) Cutoff(slot int32, overlap, ahead time.Duration) time.Time {
	tg := t.At(slot)
	first := true
	var wanted time.Time // earliest beginning of all subscribers
	back := tg.Since.Time()
	if !back.IsZero() {
		back = back.Add(-overlap)
	}
	skew := max(0, ahead)
	t.Each(slot, func(s Subscriber, _ *Source, since time.Time) {
		since = since.Add(-skew)
		if first || since.Before(wanted) {
			wanted, first = since, false
		}
		since = latest(since, t.wants.list[s.want].from)
		if s.Fresh && !tg.Is(Cold) && since.Before(back) {
			back = since
		}
	})
	if back.Before(wanted) {
		return wanted
	}
	return back
}

func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// Subscribe adds a subscriber to an account, or renews the source's subscriber, and reports
// whether it was added. With anew set, a renewed subscriber asks for other posts than
// before, and has got none yet. An added subscriber has got all posts before from through
// another node; zero for none.
func (t *Table) Subscribe(slot int32, src *Source, since, from time.Time, anew bool) (added bool) {
	added = true
	t.change(slot, func(s Subscriber) Subscriber {
		if t.wants.list[s.want].source != src {
			return s
		}
		added = false
		if anew {
			s.Fresh, s.covered = true, false
		}
		if had := t.wants.list[s.want]; anew || since.After(had.since) {
			if anew {
				had.from = time.Time{}
			}
			t.wants.drop(s.want)
			s.want = t.wants.take(src, since, had.from)
		}
		return s
	})
	if !added {
		return false
	}
	tg := t.At(slot)
	s := Subscriber{want: t.wants.take(src, since, from), Fresh: true}
	if tg.want < 0 {
		tg.setFirst(s)
	} else {
		t.more[slot] = append(t.more[slot], s)
		tg.Set(shared, true)
	}
	return true
}

// Unsubscribe removes a source's subscriber from an account, if there is one.
func (t *Table) Unsubscribe(slot int32, src *Source) {
	tg := t.At(slot)
	more := t.more[slot]
	if tg.want >= 0 && t.wants.list[tg.want].source == src {
		t.wants.drop(tg.want)
		tg.want = -1
		if n := len(more); n > 0 {
			tg.setFirst(more[n-1])
			more = more[:n-1]
		}
	} else if i := slices.IndexFunc(more, func(s Subscriber) bool { return t.wants.list[s.want].source == src }); i >= 0 {
		t.wants.drop(more[i].want)
		more = slices.Delete(more, i, i+1)
	}
	t.more[slot] = more
	if len(more) == 0 {
		delete(t.more, slot)
		tg.Set(shared, false)
	}
}
