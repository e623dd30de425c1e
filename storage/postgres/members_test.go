package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/storage/internal/sqlstore"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// shown describes a state without what is drawn at random. Terms are named by nodes.
func shown(st fleet.State, err error, names map[string]string) string {
	if err != nil {
		return strings.TrimPrefix(err.Error(), "postgres: ")
	}
	var b strings.Builder
	fmt.Fprintln(&b, names[st.Fence.Term], st.Fence.Generation, st.Own, st.Lease, st.Grants, st.Free, st.Beats, st.Epoch != 0)
	for _, m := range st.Members {
		fmt.Fprintf(&b, "%s %+v %v %v %d %v %q\n", names[m.Term], m.Node, m.Parts, m.Grants, m.Beats, m.Over, m.Says)
	}
	return b.String()
}

// commit checks fences as a commit does, in a transaction of its own.
func (s *Store) commit(ctx context.Context, fences ...fleet.Fence) error {
	return backend{s}.Write(ctx, func(tx sqlstore.Tx) error { return backend{s}.Fence(tx, batchesOf(fences...)) })
}

func batchesOf(fences ...fleet.Fence) (batches []*detect.Batch) {
	for _, f := range fences {
		batches = append(batches, &detect.Batch{Fence: f, Cursor: &detect.Cursor{Target: "t"}})
	}
	return batches
}

// Whatever nodes ask, in whatever order and as the clock goes, they get what a store gives
// them that has the terms in its memory.
func TestTermsAreThoseOfAnotherStore(t *testing.T) {
	db := newDB(t)
	for _, mode := range []string{"cache_statement", "exec"} { // the latter is for poolers
		t.Run(mode, func(t *testing.T) {
			clock := newClock()
			s := db.openSchema(t, "terms "+mode, db.url+"&default_query_exec_mode="+mode, clock.Now)
			testAgainstMemory(t, s, clock)
		})
	}
}

func testAgainstMemory(t *testing.T, s *Store, clock *fakeClock) {
	model := memory.New(memory.Options{Now: clock.Now}).Ports()
	stores := []fleet.Members{members{s}, model.Members}
	commits := []func(context.Context, ...fleet.Fence) error{s.commit, func(ctx context.Context, fences ...fleet.Fence) error {
		return model.Journal.Commit(ctx, batchesOf(fences...))
	}}
	rnd := rand.New(rand.NewPCG(3, 4))
	ctx := t.Context()
	names := map[string]string{"": "nobody", "unknown": "unknown"} // of terms
	fences := map[string][]fleet.Fence{}                           // by node: one for each store
	nodes := []string{"a", "b", "c\x00", "d: 3", "", "ü", "\xff"}
	seen := map[string]int{}
	for step := range 500 {
		name := nodes[rnd.IntN(len(nodes))]
		own := fences[name]
		if own == nil {
			own = []fleet.Fence{{Term: "unknown", Generation: 1}, {Term: "unknown", Generation: 1}}
		}
		what := rnd.IntN(20)
		node := fleet.Node{Name: name, Weight: rnd.Float64(), Lease: time.Duration(1000+rnd.IntN(5000)) * time.Millisecond, Fingerprint: fmt.Sprint(step, "\x00\xff")}
		give := fleet.SetOf(fleet.Part(rnd.IntN(fleet.Parts)), fleet.Part(rnd.IntN(40)))
		if rnd.IntN(2) == 0 {
			give = fleet.Set{}
		} else if rnd.IntN(10) == 0 {
			give = fleet.All()
		}
		suspects, wanted, older := rnd.IntN(3), rnd.IntN(400), uint64(rnd.IntN(8)/7)
		ask := []fleet.Ask{{Budget: "one\x00\xfe", Total: 10, Rate: float64(rnd.IntN(8)) / 3}, {Budget: fmt.Sprint(rnd.IntN(3)), Total: 5.5, Rate: rnd.Float64() * 9}}
		ask = ask[:rnd.IntN(3)]
		had := uint64(rnd.IntN(50) / 49 * rnd.IntN(2000))
		lost := rnd.IntN(60) == 0
		clock.Advance(time.Duration(rnd.Int64N(int64(time.Second))))
		if rnd.IntN(40) == 0 {
			clock.Advance(time.Duration(rnd.Int64N(int64(20*time.Second))) - 10*time.Second)
		}
		var got [2]string
		next := make([]fleet.Fence, 2)
		for i, m := range stores {
			var st fleet.State
			var err error
			switch what {
			case 0, 1:
				node.Seen = had
				st, err = m.Join(ctx, node)
				names[st.Fence.Term] = fmt.Sprint(name, " since ", step)
			case 2:
				err = m.Leave(ctx, own[i])
			case 3:
				st, err = m.Look(ctx)
			case 4:
				err = commits[i](ctx, fleet.Fence{})
			case 5:
				err = commits[i](ctx, own[i], own[i])
			default:
				b := fleet.Beat{Fence: own[i], Give: give, Want: wanted, Weight: node.Weight, Seen: had, Lost: lost, Asks: ask, Says: []byte(node.Fingerprint)}
				b.Fence.Generation += older - uint64(step%2)*2*older // one ahead or behind
				for _, other := range nodes[:suspects] {
					if f := fences[other]; f != nil {
						b.Suspects = append(b.Suspects, f[i].Term)
					}
				}
				st, err = m.Beat(ctx, b)
			}
			next[i] = own[i]
			if st.Fence.Term != "" {
				next[i] = st.Fence
			}
			got[i] = shown(st, err, names)
			if err != nil {
				seen[fmt.Sprint(what/4, " ", err)]++
			}
		}
		fences[name] = next
		if got[0] != got[1] {
			t.Fatalf("step %d (%d by %q):\n%s\nwant\n%s", step, what, name, got[0], got[1])
		}
	}
	for _, refused := range []string{fmt.Sprint("1 ", fleet.ErrFenced), fmt.Sprint("1 ", fleet.ErrShared), fmt.Sprint("2 ", fleet.ErrFenced)} {
		if seen[refused] == 0 {
			t.Errorf("nothing was refused as in %s: the test shows too little, %v", refused, seen)
		}
	}
}

func join(t *testing.T, s *Store, name string, lease time.Duration) fleet.State {
	t.Helper()
	st, err := members{s}.Join(t.Context(), fleet.Node{Name: name, Weight: 1, Lease: lease})
	must(t, err)
	return st
}

func beat(t *testing.T, s *Store, b fleet.Beat) fleet.State {
	t.Helper()
	st, err := members{s}.Beat(t.Context(), b)
	must(t, err)
	return st
}

// Fences that no term can have are refused, whatever they contain.
func TestFences(t *testing.T) {
	s := newDB(t).open(t, nil)
	f := join(t, s, "a", time.Minute).Fence
	for _, row := range []struct {
		name   string
		fences []fleet.Fence
		want   error
	}{
		{"the present fence", []fleet.Fence{f}, nil},
		{"NUL", []fleet.Fence{{Term: "\x00", Generation: 1}}, fleet.ErrFenced},
		{"no UTF-8", []fleet.Fence{{Term: "\xff", Generation: 1}}, fleet.ErrFenced},
		{"the largest generation", []fleet.Fence{{Term: f.Term, Generation: 1<<64 - 1}}, fleet.ErrFenced},
		{"the present one and an older", []fleet.Fence{f, {Term: f.Term}}, fleet.ErrFenced},
		{"the present one and none", []fleet.Fence{f, {}}, fleet.ErrShared},
	} {
		if err := s.commit(t.Context(), row.fences...); !errors.Is(err, row.want) {
			t.Errorf("%s: %v, want %v", row.name, err, row.want)
		}
	}
}

// Leases go by the server's clock, whatever the clock of a process says.
func TestTimesAreByTheServersClock(t *testing.T) {
	db := newDB(t)
	s := db.open(t, nil)
	join(t, s, "one", 10*time.Second)
	want(t, "a lease of 10 s ends after more than 9 s and at most 10 s, by the server's clock",
		value[bool](t, s, "SELECT ends / 1000000.0 - extract(epoch FROM clock_timestamp()) BETWEEN 9 AND 10 FROM members"), true)
	db.exec(t, "UPDATE streams.members SET ends = ends - 10000000")
	st, err := members{s}.Look(t.Context())
	must(t, err)
	want(t, "over at its end", st.Members[0].Over, true)
	must(t, s.commit(t.Context(), fleet.Fence{}))
	want(t, "terms after a commit without a fence", value[int](t, s, "SELECT count(*) FROM members"), 0)
	if off := time.Until(s.clock.Now()); off.Abs() > time.Second {
		t.Errorf("the store's clock is %s ahead of the server's", off)
	}
}

// A call that changes a fence waits for commits that have shown it. Later commits are refused.
func TestChangesOfFencesWaitForCommits(t *testing.T) {
	db := newDB(t)
	clock := newClock()
	one, two := db.open(t, clock.Now), db.open(t, clock.Now)
	for _, row := range []struct {
		name   string
		shows  func(f fleet.Fence) fleet.Fence
		change func(t *testing.T, a, b fleet.State) // by b's node, or by a's
		waits  bool
		want   error // of later commits
	}{
		{"a Beat without a change", itself, func(t *testing.T, a, _ fleet.State) { beat(t, two, fleet.Beat{Fence: a.Fence}) }, false, nil},
		{"a Beat of another term", itself, func(t *testing.T, _, b fleet.State) { beat(t, two, fleet.Beat{Fence: b.Fence, Want: 9}) }, false, nil},
		{"another Join", itself, func(t *testing.T, _, _ fleet.State) { join(t, two, "c", time.Minute) }, false, nil},
		{"the term takes parts", itself, func(t *testing.T, a, _ fleet.State) { beat(t, two, fleet.Beat{Fence: a.Fence, Want: 20}) }, true, fleet.ErrFenced},
		{"the term gives parts", itself, func(t *testing.T, a, _ fleet.State) { beat(t, two, fleet.Beat{Fence: a.Fence, Give: a.Own}) }, true, fleet.ErrFenced},
		{"the term leaves", itself, func(t *testing.T, a, _ fleet.State) { must(t, members{two}.Leave(t.Context(), a.Fence)) }, true, fleet.ErrFenced},
		{"another of its name joins", itself, func(t *testing.T, _, _ fleet.State) { join(t, two, "a", time.Minute) }, true, fleet.ErrFenced},
		{"the term is evicted", itself, func(t *testing.T, a, b fleet.State) {
			clock.Advance(time.Minute)
			beat(t, two, fleet.Beat{Fence: b.Fence, Suspects: []string{a.Fence.Term}})
		}, true, fleet.ErrFenced},
		{"a Join while a commit has no fence", nobody, func(t *testing.T, _, _ fleet.State) { join(t, two, "a", time.Minute) }, true, fleet.ErrShared},
	} {
		t.Run(row.name, func(t *testing.T) {
			db.exec(t, "TRUNCATE streams.members")
			var a, b fleet.State
			f := row.shows(fleet.Fence{})
			if f.Term != "" {
				b = join(t, one, "b", time.Minute)
				a = beat(t, one, fleet.Beat{Fence: join(t, one, "a", time.Minute).Fence, Want: 9})
				f = a.Fence
			}
			conn, err := one.writes.Acquire(t.Context())
			must(t, err)
			defer conn.Release()
			held := &tx{ctx: t.Context(), conn: conn.Conn()}
			held.queue(beginWrite, nil, done)
			must(t, backend{one}.Fence(held, batchesOf(f)))
			must(t, held.Flush())
			changed := make(chan struct{})
			go func() {
				defer close(changed)
				row.change(t, a, b)
			}()
			waiting := func() bool {
				select {
				case <-changed:
					return false
				default:
					return value[bool](t, one, "SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted AND locktype = 'advisory')")
				}
			}
			if row.waits {
				untilTrue(t, waiting)
			} else {
				<-changed
			}
			must(t, held.commit())
			<-changed
			if err := one.commit(t.Context(), f); !errors.Is(err, row.want) {
				t.Errorf("a later commit: %v, want %v", err, row.want)
			}
		})
	}
}

func itself(fleet.Fence) fleet.Fence { return fleet.Fence{Term: "present"} }
func nobody(fleet.Fence) fleet.Fence { return fleet.Fence{} }

func untilTrue(t *testing.T, is func() bool) {
	t.Helper()
	deadline := time.After(20 * time.Second)
	for !is() {
		select {
		case <-deadline:
			t.Fatal("waited 20 s in vain")
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// Commits of one fence that never pause do not keep a call that changes it from its turn.
func TestChangesOfFencesGetTheirTurn(t *testing.T) {
	db := newDB(t)
	one, two := db.open(t, nil), db.open(t, nil)
	for _, row := range []struct {
		name   string
		of     fleet.Fence
		change func(f fleet.Fence)
		want   error
	}{
		{"a Beat", join(t, one, "n", time.Minute).Fence, func(f fleet.Fence) { beat(t, one, fleet.Beat{Fence: f, Want: 1}) }, fleet.ErrFenced},
		{"a Join", fleet.Fence{}, func(fleet.Fence) { join(t, one, "m", time.Minute) }, fleet.ErrShared},
	} {
		if row.of.Term == "" {
			db.exec(t, "TRUNCATE streams.members")
		}
		var wg, ready sync.WaitGroup
		for range 4 {
			ready.Add(1)
			begun := sync.OnceFunc(ready.Done)
			wg.Go(func() {
				defer begun()
				for i := 0; ; i++ {
					if i == 5 {
						begun()
					}
					err := backend{two}.Write(t.Context(), func(tx sqlstore.Tx) error {
						if err := errors.Join((backend{two}).Fence(tx, batchesOf(row.of)), tx.Flush()); err != nil {
							return err
						}
						return tx.Exec("UPDATE totals SET erased_seq = erased_seq + 1")
					})
					if err != nil {
						if !errors.Is(err, row.want) {
							t.Errorf("a commit beside %s: %v, want %v", row.name, err, row.want)
						}
						return
					}
				}
			})
		}
		ready.Wait()
		row.change(row.of)
		last := value[int](t, one, "SELECT erased_seq FROM totals")
		wg.Wait()
		want(t, "the number of commits some time after "+row.name, value[int](t, one, "SELECT erased_seq FROM totals"), last)
	}
}

// Nodes that beat at once, through two stores, never have a part or a share of a budget twice.
func TestBeatsAtOnce(t *testing.T) {
	db := newDB(t)
	stores := []*Store{db.open(t, nil), db.open(t, nil)}
	const nodes, beats, total = 6, 20, 100
	var mu sync.Mutex
	var holder [fleet.Parts]string
	var used [nodes]float64
	var wg sync.WaitGroup
	for i := range nodes {
		s, name := stores[i%2], fmt.Sprint("node ", i)
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(1, uint64(i)))
			st := join(t, s, name, time.Minute)
			for range beats {
				give, rate := st.Own.First(rnd.IntN(st.Own.Len()+1)), rnd.Float64()*total/2
				mu.Lock()
				used[i] = min(used[i], rate)
				for p := range give.All() {
					holder[p] = ""
				}
				mu.Unlock()
				before := st.Own.Minus(give)
				st = beat(t, s, fleet.Beat{Fence: st.Fence, Give: give, Want: rnd.IntN(400), Seen: st.Beats, Asks: []fleet.Ask{{Budget: "b", Total: total, Rate: rate}}})
				mu.Lock()
				for p := range st.Own.Minus(before).All() {
					if holder[p] != "" {
						t.Errorf("part %d was given to %s while %s has it", p, name, holder[p])
					}
					holder[p] = name
				}
				used[i] = st.Grants["b"]
				sum := 0.0
				for _, u := range used {
					sum += u
				}
				if sum > total+1e-6 {
					t.Errorf("grants of %v of %v", sum, total)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	st, err := members{stores[0]}.Look(t.Context())
	must(t, err)
	want(t, "joins and beats", st.Beats, uint64(nodes*(beats+1)))
	want(t, "the epoch", st.Epoch, uint64(0))
	for range 8 {
		wg.Go(func() { join(t, stores[0], "same", time.Minute) })
	}
	wg.Wait()
	want(t, "terms of a name that joins eight times at once", value[int](t, stores[0], "SELECT count(*) FROM members WHERE name = 'same'"), 1)
}

// A server that has lost its last writes has another epoch, and goes on counting.
func TestEpoch(t *testing.T) {
	db := newDB(t)
	s := db.open(t, nil)
	a := beat(t, s, fleet.Beat{Fence: join(t, s, "a", time.Minute).Fence, Want: 5})
	db.exec(t, "UPDATE streams.fleet SET beats = 1")
	b := beat(t, s, fleet.Beat{Fence: a.Fence, Seen: a.Beats})
	want(t, "an epoch after a loss", b.Epoch != 0, true)
	want(t, "the beats after a loss", b.Beats, a.Beats+1)
	want(t, "the epoch in the store", value[int64](t, s, "SELECT epoch FROM fleet"), int64(b.Epoch))
}
