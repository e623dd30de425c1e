package main

import (
	"fmt"
	"slices"
	"time"
)

// violation is a promise that was not kept.
type violation struct {
	Invariant string // such as "I1"
	Text      string // with the ids to look at
}

func (v violation) String() string { return v.Invariant + ": " + v.Text }

// slack is the tolerance for the commit time of an event near the deletion of an endpoint. The
// store's stamp and the moment when the commit took effect may differ by that much.
const slack = time.Second

// checker compares the platform's posts, the receiver's requests, the customers' facts and the
// state of the store. It has its own version of the engine's promises, and uses none of the
// engine's code.
type checker struct {
	*outcome
	found []violation

	posts  map[string]*post // by id
	events map[string]*event
	rows   map[string]*delivery
	to     map[string]map[string]bool // endpoints of deliveries, by event
}

// check checks what must hold at any moment, even right after a kill. If rest is set, it also
// checks what must hold after the process had time to finish everything and has stopped. ends has
// the deliveries that an earlier check of the round found delivered: see staysDelivered.
func check(o *outcome, ends map[string]int, rest bool) []violation {
	c := newChecker(o)
	if c.State.Damage != "" {
		c.add("store", "%s", c.State.Damage)
		return c.found
	}
	c.Customers.noteState(&c.State)
	c.found = append(c.found, c.Customers.Broken...)
	c.detections()
	c.cursors()
	c.recordsKept()
	for _, half := range c.State.halfDone() {
		c.add("records", "%s", half)
	}
	c.deliveries()
	c.requests()
	c.staysDelivered(ends)
	c.entries()
	if rest {
		c.allDetected()
		c.allSettled()
		c.sentOnce()
	}
	return c.found
}

func newChecker(o *outcome) *checker {
	c := &checker{outcome: o, posts: make(map[string]*post), events: make(map[string]*event),
		rows: make(map[string]*delivery), to: make(map[string]map[string]bool)}
	for i := range o.Shown {
		c.posts[o.Shown[i].ID] = &o.Shown[i]
	}
	return c
}

func (c *checker) add(invariant, format string, args ...any) {
	c.found = append(c.found, violation{invariant, fmt.Sprintf(format, args...)})
}

// known says whether a detection was recorded.
func (c *checker) known(event string) bool { return c.events[event] != nil }

// detections checks that each detection is of a post that the platform has shown, for a monitor
// that watched the account at that time. It also checks that no monitor has two detections of the
// same post: the "at most once" half of I1.
func (c *checker) detections() {
	type pair struct{ source, tweet string }
	pairs := make(map[pair]string)
	next := make(map[string]int64)
	for i := range c.State.Events {
		e := &c.State.Events[i]
		if c.known(e.ID) {
			c.add("I1", "event %s is there twice", e.ID)
		}
		c.events[e.ID] = e
		if other, twice := pairs[pair{e.Source, e.Tweet}]; twice {
			c.add("I1", "post %s was detected twice for %s: events %s and %s", e.Tweet, e.Source, other, e.ID)
		}
		pairs[pair{e.Source, e.Tweet}] = e.ID
		if e.ID != eventID(e.Source, e.Tweet) {
			c.add("I1", "event %s of %s and post %s: want the id %s", e.ID, e.Source, e.Tweet, eventID(e.Source, e.Tweet))
		}
		c.wasWatched(e)
		if next[e.Owner]++; e.Seq != next[e.Owner] {
			c.add("I2", "event %s of %s has number %d, want %d", e.ID, e.Owner, e.Seq, next[e.Owner])
			next[e.Owner] = e.Seq
		}
	}
}

// wasWatched checks that the post of an event was published while its monitor watched the account.
func (c *checker) wasWatched(e *event) {
	p, w := c.posts[e.Tweet], c.Customers.Watches[e.Source]
	switch {
	case p == nil:
		c.add("I1", "event %s: the platform never showed post %s", e.ID, e.Tweet)
	case w == nil:
		c.add("I1", "event %s: nobody ever made the monitor %s", e.ID, e.Source)
	case e.Owner != w.Owner || e.Author != p.Account:
		c.add("I1", "event %s is of %s by %s, want %s and %s", e.ID, e.Owner, e.Author, w.Owner, p.Account)
	case !slices.ContainsFunc(w.Since[p.Account], func(since time.Time) bool {
		return !p.Published.Before(since.Truncate(time.Second)) // some platforms cut stamps to it
	}):
		c.add("I1", "event %s: monitor %s did not watch %s yet at %s", e.ID, e.Source, p.Account, p.Published)
	}
}

// allDetected checks that each post shown to an active monitor was detected: the "at least once"
// half of I1.
func (c *checker) allDetected() {
	for _, w := range c.State.Monitors {
		if !w.Active {
			continue
		}
		since := make(map[string]time.Time)
		for _, a := range w.Accounts {
			since[a.Username] = a.Since
		}
		for i := range c.Shown {
			p := &c.Shown[i]
			from, watched := since[p.Account]
			if watched && !p.Published.Before(from) && !c.known(eventID(w.ID, p.ID)) {
				c.add("I1", "post %s of %s, published %s and visible %s, was never detected for %s (%s), which watches since %s",
					p.ID, p.Account, clock(p.Published), clock(p.Visible), w.ID, w.Name, clock(from))
			}
		}
	}
}

func clock(t time.Time) string { return t.UTC().Format("15:04:05.000") }

// cursors checks that all posts visible at the beginning of an account's last complete poll were
// detected (I6). It covers the monitors that never change. allDetected checks the others at the
// end.
func (c *checker) cursors() {
	for id, w := range c.Customers.Watches {
		if !w.Fixed {
			continue
		}
		for i := range c.Shown {
			p := &c.Shown[i]
			since := w.Since[p.Account]
			if len(since) != 1 || p.Published.Before(since[0]) {
				continue
			}
			if at, ok := c.State.Cursors[target(p.Account)]; ok && p.Visible.Before(at) && !c.known(eventID(id, p.ID)) {
				c.add("I6", "the cursor of %s is at %s, and post %s, visible since %s, was not detected for %s",
					p.Account, clock(at), p.ID, clock(p.Visible), id)
			}
		}
	}
}

func sameWatch(a, b *watch) bool {
	return a.Active == b.Active && a.Hook == b.Hook && slices.EqualFunc(a.Accounts, b.Accounts, func(x, y accountSince) bool {
		return x.Username == y.Username && x.Since.Equal(y.Since)
	})
}
