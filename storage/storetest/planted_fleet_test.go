package storetest

import (
	"context"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/storage"
)

// badBeat plants a Beat.
func badBeat(beat func(ctx context.Context, m fleet.Members, b fleet.Beat) (fleet.State, error)) func(storage.Store) storage.Store {
	return func(s storage.Store) storage.Store {
		return breakFleet(s, func(b *brokenFleet, m fleet.Members) {
			b.beat = func(ctx context.Context, asked fleet.Beat) (fleet.State, error) { return beat(ctx, m, asked) }
		})
	}
}

// badFence plants a Commit that judges fences itself.
func badFence(refuse func(f *fences, fence fleet.Fence) error) func(storage.Store) storage.Store {
	return func(s storage.Store) storage.Store {
		return breakFleet(s, func(b *brokenFleet, m fleet.Members) {
			f := follow(b, m)
			b.commit = func(ctx context.Context, batches []*detect.Batch) error {
				for _, batch := range batches {
					if err := refuse(f, batch.Fence); err != nil {
						return err
					}
				}
				return f.any(ctx, s.Journal(), batches)
			}
		})
	}
}

var plantedFleetFaults = []plantedFault{
	{"no fence", badFence(func(*fences, fleet.Fence) error { return nil }),
		"fence/a commit that shows a generation that is over", "Commit with a generation that is over (the error is <nil>"},
	{"no fence, in a race", badFence(func(*fences, fleet.Fence) error { return nil }),
		"fence/no commit is stored after the term gives parts", "were stored after its end"},
	{"the fence is read outside the transaction", badFence(func(f *fences, fence fleet.Fence) error {
		if !fence.IsZero() && !f.is(fence) {
			return fleet.ErrFenced
		}
		return sleep(context.Background(), time.Millisecond)
	}), "fence/no commit is stored after the term takes parts", "has to wait for commits under way"},
	{"the fence is read outside the transaction, in an eviction", badFence(func(f *fences, fence fleet.Fence) error {
		if !fence.IsZero() && !f.is(fence) {
			return fleet.ErrFenced
		}
		return sleep(context.Background(), time.Millisecond)
	}), "fence/no commit is stored after the term is evicted", "has to wait for commits under way"},
	{"the term alone is looked at", badFence(func(f *fences, fence fleet.Fence) error {
		f.mu.Lock()
		defer f.mu.Unlock()
		if _, ok := f.present[fence.Term]; !ok {
			return fleet.ErrFenced
		}
		return nil
	}), "fence/a commit that shows the generation of the join", "Commit with the generation of the join (the error is <nil>"},
	{"a lower generation alone is refused", badFence(func(f *fences, fence fleet.Fence) error {
		f.mu.Lock()
		defer f.mu.Unlock()
		if is, ok := f.present[fence.Term]; !ok || fence.Generation < is.Generation {
			return fleet.ErrFenced
		}
		return nil
	}), "fence/a commit that shows a generation that is not there yet", "a generation that is not there yet (the error is <nil>"},
	{"an engine that is alone is let in", badFence(func(f *fences, fence fleet.Fence) error {
		if fence.IsZero() || f.is(fence) {
			return nil
		}
		return fleet.ErrFenced
	}), "fence/a commit that shows no fence while a term lives", "Commit with no fence while a term lives (the error is <nil>"},
	{"the first batch's fence alone is looked at", func(s storage.Store) storage.Store {
		return breakFleet(s, func(b *brokenFleet, _ fleet.Members) {
			b.commit = func(ctx context.Context, batches []*detect.Batch) error {
				for _, batch := range batches {
					batch.Fence = batches[0].Fence
				}
				return s.Journal().Commit(ctx, batches)
			}
		})
	}, "fence/one batch with an old fence refuses the whole commit", "one batch has an old fence"},
	{"dead terms are not ended by an engine that is alone", func(s storage.Store) storage.Store {
		return breakFleet(s, func(b *brokenFleet, m fleet.Members) {
			f := follow(b, m)
			b.commit = func(ctx context.Context, batches []*detect.Batch) error {
				err := s.Journal().Commit(ctx, batches)
				f.mu.Lock()
				defer f.mu.Unlock()
				if batches[0].Fence.IsZero() && err == nil {
					for range f.present {
						m.Join(ctx, fleet.Node{Name: "a", Weight: 1, Lease: time.Second}) // is there again
					}
				}
				return err
			}
		})
	}, "fence/a commit without a fence ends terms whose leases are over", "has to end the terms whose leases are over"},
	{"the generation is not raised on take", func(s storage.Store) storage.Store {
		return breakFleet(s, func(b *brokenFleet, m fleet.Members) {
			takes := map[string]uint64{}
			b.beat = func(ctx context.Context, asked fleet.Beat) (fleet.State, error) {
				asked.Fence.Generation += takes[asked.Fence.Term]
				st, err := m.Beat(ctx, asked)
				if err == nil && asked.Give == (fleet.Set{}) && st.Fence.Generation > asked.Fence.Generation {
					takes[st.Fence.Term]++
				}
				st.Fence.Generation -= takes[st.Fence.Term]
				return st, err
			}
		})
	}, "members/the generation grows by one when parts are taken", "has to grow by one when parts are taken"},
	{"the generation is raised with each beat", func(s storage.Store) storage.Store {
		return breakFleet(s, func(b *brokenFleet, m fleet.Members) {
			beats := map[string]uint64{}
			b.beat = func(ctx context.Context, asked fleet.Beat) (fleet.State, error) {
				asked.Fence.Generation -= beats[asked.Fence.Term]
				st, err := m.Beat(ctx, asked)
				if err == nil && st.Fence.Generation == asked.Fence.Generation {
					beats[st.Fence.Term]++
				}
				st.Fence.Generation += beats[st.Fence.Term]
				return st, err
			}
		})
	}, "members/the generation is the same when nothing changes", "the generation is the same when nothing changes"},
	{"an earlier generation is refused by Beat", badBeat(func(ctx context.Context, m fleet.Members, b fleet.Beat) (fleet.State, error) {
		st, err := m.Beat(ctx, fleet.Beat{Fence: b.Fence, Weight: 1})
		if err == nil && st.Fence != b.Fence {
			return fleet.State{}, fleet.ErrFenced
		}
		return m.Beat(ctx, b)
	}), "members/Beat lets a generation below in: an answer was lost", "Members.Beat failed"},
	{"the hand-out is not atomic", badBeat(func(ctx context.Context, m fleet.Members, b fleet.Beat) (fleet.State, error) {
		before, err := m.Look(ctx)
		if err != nil {
			return fleet.State{}, err
		}
		if err := sleep(ctx, time.Millisecond); err != nil {
			return fleet.State{}, err
		}
		free := fleet.All()
		var own fleet.Set
		for _, other := range before.Members {
			if free = free.Minus(other.Parts); other.Term == b.Fence.Term {
				own = other.Parts.Minus(b.Give)
			}
		}
		st, err := m.Beat(ctx, b)
		st.Own = own.Plus(free.Minus(b.Give).First(max(b.Want-own.Len(), 0)))
		return st, err
	}), "members/parts are handed out once, and all of them", " has it"},
	{"what is given by another is taken, too", badBeat(func(ctx context.Context, m fleet.Members, b fleet.Beat) (fleet.State, error) {
		st, err := m.Look(ctx)
		for _, other := range st.Members {
			if other.Term != b.Fence.Term && other.Parts.And(b.Give) != (fleet.Set{}) {
				m.Leave(ctx, fleet.Fence{Term: other.Term})
			}
		}
		if err != nil {
			return st, err
		}
		return m.Beat(ctx, b)
	}), "members/Beat takes what is given, as far as the term has it", "Members.Beat failed"},
	{"a give is handed back at once", badBeat(func(ctx context.Context, m fleet.Members, b fleet.Beat) (fleet.State, error) {
		if _, err := m.Beat(ctx, fleet.Beat{Fence: b.Fence, Give: b.Give, Weight: b.Weight}); err != nil {
			return fleet.State{}, err
		}
		b.Give = fleet.Set{}
		return m.Beat(ctx, b)
	}), "members/Beat does not give what was just given up", "gave back parts of its own Give"},
	{"suspects end whatever their lease", badBeat(func(ctx context.Context, m fleet.Members, b fleet.Beat) (fleet.State, error) {
		for _, term := range b.Suspects {
			if term != b.Fence.Term {
				m.Leave(ctx, fleet.Fence{Term: term})
			}
		}
		return m.Beat(ctx, b)
	}), "members/a suspect whose lease is not over goes on", "although its lease is not over"},
	{"a term ends by the store's clock alone", badBeat(func(ctx context.Context, m fleet.Members, b fleet.Beat) (fleet.State, error) {
		st, err := m.Look(ctx)
		for _, other := range st.Members {
			if other.Over && other.Term != b.Fence.Term {
				b.Suspects = append(b.Suspects, other.Term)
			}
		}
		if err != nil {
			return st, err
		}
		return m.Beat(ctx, b)
	}), "members/a term whose lease is over goes on while nobody suspects it", "ended a term that nobody suspects"},
	{"a term whose lease is over is refused", badBeat(func(ctx context.Context, m fleet.Members, b fleet.Beat) (fleet.State, error) {
		st, err := m.Look(ctx)
		for _, own := range st.Members {
			if own.Over && own.Term == b.Fence.Term {
				err = fleet.ErrFenced
			}
		}
		if err != nil {
			return fleet.State{}, err
		}
		return m.Beat(ctx, b)
	}), "members/a term whose lease is over goes on while nobody suspects it", "Members.Beat failed"},
	{"a clock that jumps ahead evicts", badBeat(func(ctx context.Context, m fleet.Members, b fleet.Beat) (fleet.State, error) {
		st, err := m.Beat(ctx, fleet.Beat{Fence: b.Fence, Weight: 1}) // its own lease alone is looked at
		if err != nil {
			return st, err
		}
		for _, term := range b.Suspects {
			m.Leave(ctx, fleet.Fence{Term: term})
		}
		return m.Beat(ctx, b)
	}), "members/a clock that jumps ahead evicts nobody who beats", "was ended"},
	{"the epoch is not drawn", badBeat(func(ctx context.Context, m fleet.Members, b fleet.Beat) (fleet.State, error) {
		b.Seen, b.Lost = 0, false
		return m.Beat(ctx, b)
	}), "members/Beat draws another epoch when a node has seen more beats", "has to draw another epoch when Seen"},
	{"the epoch is not drawn by Join", func(s storage.Store) storage.Store {
		return breakFleet(s, func(b *brokenFleet, m fleet.Members) {
			b.join = func(ctx context.Context, n fleet.Node) (fleet.State, error) { n.Seen = 0; return m.Join(ctx, n) }
		})
	}, "members/Join draws another epoch when a node has seen more beats", "Join has to draw another epoch"},
	{"numbers given twice draw no epoch", badBeat(func(ctx context.Context, m fleet.Members, b fleet.Beat) (fleet.State, error) {
		b.Lost = false
		return m.Beat(ctx, b)
	}), "members/Beat draws another epoch when numbers were given twice", "when Lost is set"},
	{"a term of the same name stays", func(s storage.Store) storage.Store {
		return breakFleet(s, func(b *brokenFleet, m fleet.Members) {
			b.join = func(ctx context.Context, n fleet.Node) (fleet.State, error) { n.Name += " "; return m.Join(ctx, n) }
			b.leave = func(context.Context, fleet.Fence) error { return nil }
		})
	}, "members/Leave ends a term, and frees its parts and grants", "Leave has to end the term"},
	{"two terms have one name", func(s storage.Store) storage.Store {
		return breakFleet(s, func(b *brokenFleet, m fleet.Members) {
			n := 0
			b.join = func(ctx context.Context, node fleet.Node) (fleet.State, error) {
				if n++; n > 1 {
					node.Name += "'"
				}
				return m.Join(ctx, node)
			}
		})
	}, "members/Join ends a term of the same name, whatever its lease", "Join has to free the parts"},
	{"a grant is raised before the others are lowered", func(s storage.Store) storage.Store {
		return breakFleet(s, func(b *brokenFleet, m fleet.Members) {
			// Shares go by what the terms asked for last, not by what they have.
			var mu sync.Mutex
			rates := map[string]float64{}
			b.beat = func(ctx context.Context, asked fleet.Beat) (fleet.State, error) {
				st, err := m.Beat(ctx, asked)
				mu.Lock()
				defer mu.Unlock()
				st.Grants = maps.Clone(st.Grants)
				for _, a := range asked.Asks {
					rates[asked.Fence.Term] = a.Rate
					sum := 0.0
					for _, r := range rates {
						sum += r
					}
					st.Grants[a.Budget] = min(a.Rate, a.Total*a.Rate/max(sum, 1))
				}
				return st, err
			}
		})
	}, "members/the grants of nodes that beat at once never sum up to more than there is", "nodes were granted"},
	{"a node's own grant counts against it", badBeat(func(ctx context.Context, m fleet.Members, b fleet.Beat) (fleet.State, error) {
		st, err := m.Look(ctx)
		for _, own := range st.Members {
			if own.Term == b.Fence.Term {
				for i, a := range b.Asks {
					b.Asks[i].Rate = max(min(a.Rate, a.Total-own.Grants[a.Budget]), 0)
				}
			}
		}
		if err != nil {
			return st, err
		}
		return m.Beat(ctx, b)
	}), "members/a node's own grant does not count against it", "x=9"},
}

func TestPlantedFleetFaults(t *testing.T) { findPlantedInBubble(t, plantedFleetFaults) }
