package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/fleet"
)

// writes is one of the term's writers: it writes the next numbers of some parts, again
// and again until ctx, the term's, ends. A commit that has begun goes on until life, the
// worker's, ends.
func (t *term) writes(ctx, life context.Context) {
	for ctx.Err() == nil {
		list := t.next()
		if len(list) > 0 {
			acks, again, err := t.write(ctx, life, list)
			t.report(list, acks, again, err)
			if errors.Is(err, fleet.ErrFenced) {
				t.end()
			}
		}
		if !pause(ctx, writeEvery) {
			return
		}
	}
}

// next takes the next parts out of the queue.
func (t *term) next() []*chain {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := slices.Clone(t.queue[:min(chainsPerCommit, len(t.queue))])
	t.queue = t.queue[len(list):]
	for _, c := range list {
		c.busy = true
	}
	return list
}

// step returns the number to write next, and whether it was lost before.
func (c *chain) step() (n uint64, filled bool) {
	if len(c.lost) > 0 {
		return c.lost[0], true
	}
	return c.n + 1, false
}

// write commits the next number of each part. A commit without a clear outcome is
// made again with the same ids.
func (t *term) write(ctx, life context.Context, list []*chain) (acks []ack, again int, err error) {
	fence := t.shown()
	batches := make([]*detect.Batch, len(list))
	for i, c := range list {
		batches[i] = c.batch(t.id)
	}
	if t.Plant == plantEarly { // be slow, so that a beat can give the parts meanwhile
		pause(life, writeEvery)
	}
	show := fence
	if t.Plant == plantNoFence {
		show = t.Shown
	}
	for {
		for _, b := range batches {
			b.Fence = show
		}
		call, cancel := context.WithTimeout(life, callWithin)
		err := t.store.Journal().Commit(call, batches)
		cancel()
		switch {
		case err == nil:
			acks, err = t.advance(life, list, batches)
			return acks, again, err
		case errors.Is(err, fleet.ErrFenced):
			newer := t.shown()
			if newer == fence {
				return nil, again, err
			}
			fence, show = newer, newer
			again++
			if t.Plant == plantEarly { // wait until the next owner has begun
				pause(ctx, t.Lease/beatsPerLease)
			}
		case !pause(ctx, 10*time.Millisecond):
			return nil, again, err
		}
	}
}

// shown returns the term's fence, when no beat is under way.
func (t *term) shown() fleet.Fence {
	t.calling <- struct{}{}
	defer func() { <-t.calling }()
	return t.fence
}

// batch returns the batch that commits the next number of a part.
func (c *chain) batch(term string) *detect.Batch {
	n, filled := c.step()
	body, err := json.Marshal(link{Term: term, Taken: c.taken, N: n, Filled: filled})
	if err != nil {
		panic(err) // it has nothing that cannot be encoded
	}
	owner := ownerOf(c.part)
	return &detect.Batch{
		Cursor: &detect.Cursor{Target: targets()[c.part], Position: strconv.FormatUint(max(n, c.n), 10)},
		Events: []deliver.Event{{
			// With the term: the same number written by another term is another event.
			ID:     fmt.Sprintf("%s-%d-%s-%d", owner, n, term, c.taken),
			Source: deliver.Source{Kind: deliver.SourceMonitor, ID: owner, Owner: owner}, TweetID: strconv.FormatUint(n, 10),
			DetectedAt: time.Now(), Body: body,
		}},
	}
}

// advance moves the parts on to their next numbers. Where the number that the store has
// given to an event differs from the one that was written, the store has lost some.
func (t *term) advance(ctx context.Context, list []*chain, batches []*detect.Batch) (acks []ack, err error) {
	ctx, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	for i, c := range list {
		n, filled := c.step()
		if filled {
			c.lost = c.lost[1:]
			continue
		}
		c.n = n
		acks = append(acks, ack{c.part, c.taken, n})
		if batches[i].Events[0].Seq != n && err == nil {
			err = t.lookBack(ctx, c)
		}
	}
	return acks, err
}

// report tells the parent what became of a commit, and puts its parts back into the
// queue.
func (t *term) report(list []*chain, acks []ack, again int, err error) {
	said := fleetSaid{Term: t.id, Acks: acks, Again: again}
	if errors.Is(err, fleet.ErrFenced) {
		said.Refused = err.Error()
	}
	wrote := make(map[fleet.Part]bool)
	for _, a := range acks {
		wrote[a.Part] = true
	}
	t.mu.Lock()
	goals := t.goals.Load()
	for _, c := range list {
		c.busy = false
		done := goals != nil && wrote[c.part] && c.n > goals[c.part] && len(c.lost) == 0
		if !c.given && !done {
			t.queue = append(t.queue, c)
		}
	}
	t.idle.Broadcast()
	t.mu.Unlock()
	if len(acks) > 0 || said.Refused != "" || again > 0 {
		t.say(said)
	}
}
