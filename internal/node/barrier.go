package node

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/internal/batch"
)

// recheck is how often the barrier reads the members from the store while a caller waits.
const recheck = 250 * time.Millisecond

// barrier makes callers wait until all members have applied all changes in the feed. One read of
// the members (a look) serves all callers.
type barrier struct {
	n    *Node
	bell batch.Bell // rings for a new caller, and when a member has applied more changes

	mu      sync.Mutex
	waits   []*wait
	applied map[string]uint64 // last change that each member has applied, by term
	stopped bool
}

// wait is the wait of one caller of Barrier.
type wait struct {
	asked   bool     // a look has begun since the call
	known   bool     // that look has ended: last and missing are set
	last    uint64   // the change to wait for
	missing []string // terms that have not applied it
	done    chan error
}

func newBarrier(n *Node) *barrier {
	return &barrier{n: n, bell: batch.NewBell(), applied: map[string]uint64{}}
}

var errStopped = errors.New("node: it does not run")

// Barrier waits until every member of the fleet, including this one, has applied all changes of
// records made before the call. It does not wait for a member whose term has ended.
func (n *Node) Barrier(ctx context.Context) error {
	n.Send(fleet.Signal{Kind: fleet.SignalChanged})
	b, w := n.waits, &wait{done: make(chan error, 1)}
	b.mu.Lock()
	if b.stopped {
		b.mu.Unlock()
		return errStopped
	}
	b.waits = append(b.waits, w)
	b.mu.Unlock()
	b.bell.Ring()
	select {
	case err := <-w.done:
		return err
	case <-ctx.Done():
		b.mu.Lock()
		defer b.mu.Unlock()
		b.waits = slices.DeleteFunc(b.waits, func(o *wait) bool { return o == w })
		return ctx.Err()
	}
}

func (b *barrier) run(ctx context.Context) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	defer b.stop()
	var next time.Time // of the next look
	for ctx.Err() == nil {
		waiting, fresh := b.open()
		if now := time.Now(); waiting && (fresh || !now.Before(next)) {
			b.ask()
			st, err := b.n.look(ctx)
			if err == nil {
				b.note(st)
			}
			next = time.Now().Add(recheck)
			if err != nil {
				b.retry()
				timer.Reset(recheck)
				select { // not sooner: the store may be down
				case <-timer.C:
				case <-ctx.Done():
				}
				continue
			}
		}
		b.settle()
		if waiting, fresh = b.open(); fresh {
			continue
		}
		timer.Reset(time.Hour)
		if waiting {
			timer.Reset(time.Until(next))
		}
		select {
		case <-b.bell:
		case <-timer.C:
		case <-ctx.Done():
		}
	}
}

// open reports whether a caller waits, and whether any of them needs a new look.
func (b *barrier) open() (waiting, fresh bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.waits) > 0, slices.ContainsFunc(b.waits, func(w *wait) bool { return !w.asked })
}

func (b *barrier) ask() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, w := range b.waits {
		w.asked = true
	}
}

// retry handles a look that failed: the callers that waited for its result need another look.
func (b *barrier) retry() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, w := range b.waits {
		w.asked = w.known
	}
}

// note handles the answer to a look. It sets the change that each new caller waits for, and the
// members that have not applied it.
func (b *barrier) note(st fleet.State) {
	own := b.n.Fence().Term
	b.mu.Lock()
	defer b.mu.Unlock()
	here := make(map[string]uint64, len(st.Members))
	for _, m := range st.Members {
		here[m.Term] = max(b.applied[m.Term], m.Applied)
	}
	b.applied = here
	last := uint64(0)
	for _, w := range b.waits {
		if !w.asked {
			continue
		}
		if !w.known {
			w.known, w.last = true, st.Feed
		}
		w.missing = w.missing[:0]
		for _, m := range st.Members {
			// Do not wait for a member that is still reading all records. Before it gets any
			// part, it applies the changes in the feed: see stage.
			if m.Term != own && here[m.Term] < w.last && (m.Parts != (fleet.Set{}) || !readSays(m.Says).Reads) {
				w.missing = append(w.missing, m.Term)
			}
		}
		if len(w.missing) > 0 {
			last = max(last, w.last)
		}
	}
	if last > 0 {
		b.n.Send(fleet.Signal{Kind: fleet.SignalChanged, N: last})
	}
}

// signalled notes the last change that another node has applied.
func (b *barrier) signalled(term string, applied uint64) {
	b.mu.Lock()
	if _, known := b.applied[term]; known || len(b.applied) < 4096 {
		b.applied[term] = max(b.applied[term], applied)
	}
	b.mu.Unlock()
	b.bell.Ring()
}

// forget drops the numbers of changes that members have applied, because the store has lost its
// last changes and reuses their numbers.
func (b *barrier) forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	clear(b.applied)
}

// settle ends the waits for changes that every member has applied.
func (b *barrier) settle() {
	whole := b.n.feed.whole.Load()
	own, joined := b.n.feed.applied.Load(), b.n.stand.isJoined() && whole
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waits = slices.DeleteFunc(b.waits, func(w *wait) bool {
		w.missing = slices.DeleteFunc(w.missing, func(term string) bool { return b.applied[term] >= w.last })
		if !w.known || len(w.missing) > 0 || joined && own < w.last {
			return false
		}
		w.done <- nil
		return true
	})
}

func (b *barrier) stop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stopped = true
	for _, w := range b.waits {
		w.done <- errStopped
	}
	b.waits = nil
}
