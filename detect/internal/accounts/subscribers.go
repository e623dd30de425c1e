package accounts

import (
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect/internal/poll"
	"github.com/streamwatch/streamwatch/detect/internal/schedule"
)

// Subscriber is the subscription of one source to an account.
type Subscriber struct {
	want int32
	// Fresh is true if the subscriber may lack posts that are in the window. Until a whole poll was
	// made for the subscriber, it gets these posts too.
	Fresh   bool
	covered bool // fresh, and served by the poll under way
}

// Each calls fn for each subscriber of an account, with its source and its start: posts published
// since then are for the source.
func (a *Targets) Each(slot int32, fn func(s Subscriber, src *Source, since time.Time)) {
	t := a.at(slot)
	if t.want < 0 {
		return
	}
	w := &a.wants.list[t.want]
	fn(t.first(), w.source, w.since)
	for _, s := range t.subs() {
		w := &a.wants.list[s.want]
		fn(s, w.source, w.since)
	}
}

// change replaces each subscriber by the result of fn.
func (a *Targets) change(slot int32, fn func(Subscriber) Subscriber) {
	t := a.at(slot)
	if t.want < 0 {
		return
	}
	t.setFirst(fn(t.first()))
	subs := t.subs()
	for i := range subs {
		subs[i] = fn(subs[i])
	}
}

// correct corrects the since of subscribers if the clock that stamped it was ahead and was later
// set back. It does so for subscribers for which a whole poll was made: posts published since that
// poll are for them.
func (a *Targets) correct(slot int32) {
	read, latest := a.at(slot).since.time(), a.env.Now().Add(poll.Differ)
	a.change(slot, func(s Subscriber) Subscriber {
		if w := a.wants.list[s.want]; !s.Fresh && w.since.After(latest) {
			a.wants.drop(s.want)
			s.want = a.wants.take(w.source, a.env.Begins(w.since, read, poll.Differ), w.from)
		}
		return s
	})
}

// anyFresh reports whether any subscriber is fresh.
func (a *Targets) anyFresh(slot int32) (any bool) {
	t := a.at(slot)
	return t.is(fresh) || slices.ContainsFunc(t.subs(), func(s Subscriber) bool { return s.Fresh })
}

// cover marks the subscribers that are fresh now: the poll that begins will serve them.
func (a *Targets) cover(slot int32) {
	a.change(slot, func(s Subscriber) Subscriber {
		s.covered = s.Fresh
		return s
	})
}

// served marks covered subscribers as no longer fresh. It is called after a whole poll.
func (a *Targets) served(slot int32) {
	a.change(slot, func(s Subscriber) Subscriber {
		if s.covered {
			s.Fresh, s.covered = false, false
		}
		return s
	})
}

// lacks returns the time since which a fresh subscriber lacks posts. It is the later of two times:
// since when posts are for the subscriber, and up to when the account was read for it.
func (a *Targets) lacks(t *account, s Subscriber, src *Source, since time.Time) time.Time {
	from := latest(since, latest(src.read, a.wants.list[s.want].from))
	if src.resumes && t.is(cold) {
		from = latest(from, t.since.time())
	}
	return from
}

// asked returns the shortest interval of an account's subscribers; 0 if they have none.
func (a *Targets) asked(slot int32) (shortest time.Duration) {
	t := a.at(slot)
	if t.want < 0 {
		return 0
	}
	shortest = a.wants.list[t.want].interval
	for _, s := range t.subs() {
		if iv := a.wants.list[s.want].interval; iv > 0 && (shortest == 0 || iv < shortest) {
			shortest = iv
		}
	}
	return shortest
}

// MonitorInterval returns the shortest interval of an account's monitors; 0 if they have
// none.
func (a *Targets) MonitorInterval(slot int32) (shortest time.Duration) {
	a.Each(slot, func(_ Subscriber, src *Source, _ time.Time) {
		if src.Kind != deliver.SourceRule && src.interval > 0 && (shortest == 0 || src.interval < shortest) {
			shortest = src.interval
		}
	})
	return shortest
}

// Ask combines the terms of an account's subscribers.
func (a *Targets) Ask(slot int32) (ask schedule.Ask) {
	var most float64 // the highest weight of a source; of equal ones, the first owner by name counts
	ask.Interval = a.asked(slot)
	a.Each(slot, func(_ Subscriber, src *Source, _ time.Time) {
		ask.Weight += src.Weight
		if src.Weight > most || src.Weight == most && src.Owner < ask.Owner {
			most, ask.Owner = src.Weight, src.Owner
		}
	})
	return ask
}

// WantedBy counts the sources of an account with an owner for which of returns true. It also
// returns the shortest interval of these sources, 0 if they have none.
func (a *Targets) WantedBy(slot int32, of func(owner string) bool) (sources int, shortest time.Duration) {
	a.Each(slot, func(_ Subscriber, src *Source, _ time.Time) {
		if !of(src.Owner) {
			return
		}
		sources++
		if src.interval > 0 && (shortest == 0 || src.interval < shortest) {
			shortest = src.interval
		}
	})
	return sources, shortest
}

// cutoff returns how far back the next poll must read: by the overlap before the last complete
// poll, and for a fresh subscriber back to its since. It never goes beyond the earliest since of
// all subscribers. For a cold account only the overlap counts: after a start all subscribers are
// fresh, and the previous process has handled earlier posts. If our clock is ahead of the
// upstream's, the poll reads back further by the difference.
func (a *Targets) cutoff(slot int32, overlap time.Duration) time.Time {
	t := a.at(slot)
	first := true
	var wanted time.Time // earliest since of all subscribers
	back := t.since.time()
	if !back.IsZero() {
		back = back.Add(-overlap)
	}
	skew := max(0, t.Skew())
	a.Each(slot, func(s Subscriber, _ *Source, since time.Time) {
		since = since.Add(-skew)
		if first || since.Before(wanted) {
			wanted, first = since, false
		}
		since = latest(since, a.wants.list[s.want].from)
		if s.Fresh && !t.is(cold) && since.Before(back) {
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

// subscribe adds a subscriber to an account, or updates the source's present one, and reports
// whether it was added. anew is set if the present subscriber now wants other posts; it has none of
// them yet. from is set if another node has read the account for an added subscriber: the
// subscriber then has all posts from before it.
func (a *Targets) subscribe(slot int32, src *Source, since, from time.Time, anew bool) (added bool) {
	added = true
	a.change(slot, func(s Subscriber) Subscriber {
		if a.wants.list[s.want].source != src {
			return s
		}
		added = false
		if anew {
			s.Fresh, s.covered = true, false
		}
		if had := a.wants.list[s.want]; anew || since.After(had.since) {
			if anew {
				had.from = time.Time{}
			}
			a.wants.drop(s.want)
			s.want = a.wants.take(src, since, had.from)
		}
		return s
	})
	if !added {
		return false
	}
	t := a.at(slot)
	s := Subscriber{want: a.wants.take(src, since, from), Fresh: true}
	if t.want < 0 {
		t.setFirst(s)
	} else {
		t.setMore(append(t.subs(), s), t.posts())
	}
	return true
}

// leave removes a source's subscriber from an account, if there is one.
func (a *Targets) leave(slot int32, src *Source) {
	t := a.at(slot)
	subs := t.subs()
	if t.want >= 0 && a.wants.list[t.want].source == src {
		a.wants.drop(t.want)
		t.want, t.Watched = -1, false
		if n := len(subs); n > 0 {
			t.setFirst(subs[n-1])
			subs = subs[:n-1]
		} else {
			t.set(fresh|covered, false)
		}
	} else if i := slices.IndexFunc(subs, func(s Subscriber) bool { return a.wants.list[s.want].source == src }); i >= 0 {
		a.wants.drop(subs[i].want)
		subs = slices.Delete(subs, i, i+1)
	}
	t.setMore(subs, t.posts())
}
