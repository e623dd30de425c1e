package redisstore_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/storage/memory"
	"github.com/streamwatch/streamwatch/storage/redisstore"
)

// shownState describes a state without what is drawn at random. Terms are named by nodes.
func shownState(st fleet.State, err error, names map[string]string) string {
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	fmt.Fprintln(&b, names[st.Fence.Term], st.Fence.Generation, st.Own, st.Lease, st.Grants, st.Free, st.Feed, st.Beats, st.Epoch != 0)
	for _, m := range st.Members {
		fmt.Fprintf(&b, "%s %+v %v %v %d %v %d %q\n", names[m.Term], m.Node, m.Parts, m.Grants, m.Beats, m.Over, m.Applied, m.Says)
	}
	return b.String()
}

// Whatever nodes ask, in whatever order and as the clock goes, they get what a store gives
// them that has the terms in its memory.
func TestTermsAreThoseOfAnotherStore(t *testing.T) {
	t.Parallel()
	s, _, clock := open(t, redisstore.Options{})
	model := memory.New(memory.Options{Now: clock.Now})
	stores := []fleet.Members{s.Members(), model.Members()}
	journals := []detect.Journal{s.Journal(), model.Journal()}
	rnd := rand.New(rand.NewPCG(3, 4))
	ctx := t.Context()
	names := map[string]string{"": "nobody", "unknown": "unknown"} // of terms
	fences := map[string][]fleet.Fence{}                           // by node: one for each store
	nodes := []string{"a", "b", "c\x00", "d: 3", "", "ü"}
	seen := map[string]int{}
	for step := range 600 {
		name := nodes[rnd.IntN(len(nodes))]
		own := fences[name]
		if own == nil {
			own = []fleet.Fence{{Term: "unknown", Generation: 1}, {Term: "unknown", Generation: 1}}
		}
		what := rnd.IntN(20)
		node := fleet.Node{Name: name, Weight: rnd.Float64(), Lease: time.Duration(1000+rnd.IntN(5000)) * time.Millisecond, Fingerprint: fmt.Sprint(step)}
		give := fleet.SetOf(fleet.Part(rnd.IntN(fleet.Parts)), fleet.Part(rnd.IntN(40)))
		if rnd.IntN(2) == 0 {
			give = fleet.Set{}
		} else if rnd.IntN(10) == 0 {
			give = fleet.All()
		}
		suspects, wanted, older := rnd.IntN(3), rnd.IntN(400), uint64(rnd.IntN(8)/7)
		ask := []fleet.Ask{{Budget: "one", Total: 10, Rate: float64(rnd.IntN(8)) / 3}, {Budget: fmt.Sprint(rnd.IntN(3)), Total: 5.5, Rate: rnd.Float64() * 9}}
		ask = ask[:rnd.IntN(3)]
		had := uint64(rnd.IntN(50) / 49 * rnd.IntN(2000))
		lost := rnd.IntN(60) == 0
		clock.Advance(time.Duration(rnd.Int64N(int64(time.Second))))
		if rnd.IntN(40) == 0 {
			clock.Advance(time.Duration(rnd.Int64N(int64(20*time.Second))) - 10*time.Second)
		}
		var shown [2]string
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
			case 4, 5:
				f := fleet.Fence{}
				if what == 5 {
					f = own[i]
				}
				err = journals[i].Commit(ctx, []*detect.Batch{{Fence: f, Cursor: &detect.Cursor{Target: "t"}}})
			default:
				b := fleet.Beat{Fence: own[i], Give: give, Want: wanted, Weight: node.Weight, Applied: uint64(step), Seen: had, Lost: lost, Asks: ask, Says: []byte(node.Fingerprint)}
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
			shown[i] = shownState(st, err, names)
			if err != nil {
				seen[fmt.Sprint(what/4, " ", err)]++
			}
		}
		fences[name] = next
		if shown[0] != shown[1] {
			t.Fatalf("step %d (%d by %q):\n%s\nwant\n%s", step, what, name, shown[0], shown[1])
		}
	}
	for _, refused := range []string{fmt.Sprint("1 ", fleet.ErrFenced), fmt.Sprint("1 ", fleet.ErrShared), fmt.Sprint("2 ", fleet.ErrFenced)} {
		if seen[refused] == 0 {
			t.Errorf("nothing was refused as in %s: the test shows too little, %v", refused, seen)
		}
	}
}

func join(t *testing.T, s *redisstore.Store, name string, lease time.Duration) fleet.State {
	t.Helper()
	st, err := s.Members().Join(t.Context(), fleet.Node{Name: name, Weight: 1, Lease: lease})
	must(t, err)
	return st
}

// Leases go by the server's clock, whatever the clock of a process says.
func TestLeasesGoByTheServersClock(t *testing.T) {
	server := miniredis.RunT(t)
	s, err := redisstore.Open(t.Context(), &redis.UniversalOptions{Addrs: []string{server.Addr()}}, redisstore.Options{AllowEviction: true})
	must(t, err)
	defer s.Close(t.Context())
	server.SetTime(start)
	one := join(t, s, "one", 10*time.Second)
	alone := func() error {
		return s.Journal().Commit(t.Context(), []*detect.Batch{{Cursor: &detect.Cursor{Target: "t"}}})
	}
	server.SetTime(start.Add(10*time.Second - time.Microsecond))
	st, err := s.Members().Look(t.Context())
	must(t, err)
	want(t, "over before its end", st.Members[0].Over, false)
	wantErr(t, alone(), fleet.ErrShared)
	server.SetTime(start.Add(10 * time.Second))
	st, err = s.Members().Look(t.Context())
	must(t, err)
	want(t, "over at its end", st.Members[0].Over, true)
	must(t, alone())
	_, err = s.Members().Beat(t.Context(), fleet.Beat{Fence: one.Fence})
	wantErr(t, err, fleet.ErrFenced)
	want(t, "terms are left", server.Exists("{streamwatch}:members"), false)
}

// A commit that is refused for its fence changes nothing, and one that was done is not
// refused when it is asked again after a hand-over.
func TestAFenceRefusesAWholeCommit(t *testing.T) {
	s, l, server := openLinked(t, redisstore.Options{})
	bind(t, s, acme, "e")
	a, b := join(t, s, "a", time.Minute), join(t, s, "b", time.Minute)
	batch := func(f fleet.Fence, tweet string) *detect.Batch {
		return &detect.Batch{Fence: f, Events: []deliver.Event{newEvent(acme, tweet)}, DeliverBy: start, Cursor: &detect.Cursor{Target: "t"}}
	}
	ahead, behind := a.Fence, a.Fence
	ahead.Generation++
	behind.Generation--
	for name, f := range map[string]fleet.Fence{"ahead": ahead, "behind": behind, "unknown": {Term: "x", Generation: 1}} {
		before := dump(server)
		err := s.Journal().Commit(t.Context(), []*detect.Batch{batch(b.Fence, name), batch(f, name+"2")})
		wantErr(t, err, fleet.ErrFenced)
		want(t, "data after a refusal", dump(server), before)
	}
	must(t, s.Journal().Commit(t.Context(), []*detect.Batch{batch(a.Fence, "1"), batch(b.Fence, "2")}))

	// The reply is lost; before the call is made again, the term is over.
	other, _ := openOn(t, server, redisstore.Options{})
	attempts := 0
	l.set(func([]byte) linkFault {
		switch attempts++; attempts {
		case 1:
			return loseReply
		case 2:
			must(t, other.Members().Leave(t.Context(), a.Fence))
		}
		return noFault
	})
	must(t, s.Journal().Commit(t.Context(), []*detect.Batch{batch(a.Fence, "3")}))
	wantErr(t, s.Journal().Commit(t.Context(), []*detect.Batch{batch(a.Fence, "4")}), fleet.ErrFenced)
	want(t, "events", logged(t, s, "acme", 0), "1:1 2:2 3:3")
}

// Deliveries to endpoints of other engines are due at once, those to handlers are not.
func TestDeliveriesForOthersAreDueAtOnce(t *testing.T) {
	s, _, clock := open(t, redisstore.Options{})
	var mine []fleet.Part
	for i := range 8 {
		id := fmt.Sprint("endpoint ", i)
		bind(t, s, acme, id)
		if i%2 == 0 {
			mine = append(mine, fleet.PartOf(id))
		}
	}
	lanes, by := fleet.SetOf(mine...), start.Add(time.Hour)
	b := &detect.Batch{Events: []deliver.Event{newEvent(acme, "1", "log")}, DeliverBy: by, Lanes: &lanes}
	must(t, s.Journal().Commit(t.Context(), []*detect.Batch{b}))
	for i, d := range b.Deliveries {
		due := by
		if i < 8 && i%2 == 1 {
			due = clock.Now()
		}
		want(t, "due of "+d.EndpointID, d.Due, due)
	}
	var due []string
	for _, d := range claim(t, s, 100) {
		due = append(due, d.EndpointID)
	}
	want(t, "claimed", strings.Join(due, ", "), "endpoint 1, endpoint 3, endpoint 5, endpoint 7")
}

// The feed has each change once, in order, with whose it is, and forgets the oldest.
func TestTheFeedHasWhatChanged(t *testing.T) {
	s, server, _ := open(t, redisstore.Options{})
	ctx := t.Context()
	last := func() uint64 {
		n, err := s.Feed().Last(ctx)
		must(t, err)
		return n
	}
	want(t, "last of none", last(), 0)
	m := monitor.Monitor{ID: "m", Owner: "ac\x00me", Name: "n"}
	must(t, s.Monitors().Create(ctx, m))
	wantErr(t, s.Monitors().Create(ctx, m), monitor.ErrDuplicate)
	bind(t, s, acme, "e")
	must(t, s.Monitors().Update(ctx, m))
	wantErr(t, s.Monitors().Update(ctx, m), monitor.ErrConflict)
	must(t, s.Monitors().Delete(ctx, m.Owner, "m"))
	must(t, s.Endpoints().Delete(ctx, "acme", "e"))
	changes, err := s.Feed().Since(ctx, 1, 3)
	must(t, err)
	if want := []fleet.Change{{N: 2, Kind: fleet.Endpoint, Owner: "acme", ID: "e"}, {N: 3, Kind: fleet.Monitor, Owner: m.Owner, ID: "m"}, {N: 4, Kind: fleet.Monitor, Owner: m.Owner, ID: "m"}}; !slices.Equal(changes, want) {
		t.Errorf("the feed has %v, want %v", changes, want)
	}
	want(t, "last", last(), 5)
	for i := range 10_000 {
		server.Push("{streamwatch}:changes", fmt.Sprint("macme\x00\x00", i))
	}
	server.HSet("{streamwatch}:count", "c", "10005")
	bind(t, s, acme, "e")
	for after, old := range map[uint64]bool{5: true, 6: false, 10_006: false, 10_007: true, 1 << 60: true} {
		_, err := s.Feed().Since(ctx, after, 1)
		if errors.Is(err, fleet.ErrTooOld) != old {
			t.Errorf("Since(%d): %v, want ErrTooOld: %v", after, err, old)
		}
	}
	changes, err = s.Feed().Since(ctx, 6, 20_000)
	must(t, err)
	want(t, "changes that are kept", len(changes), 10_000)
	want(t, "the last of these", changes[9_999], fleet.Change{N: 10_006, Kind: fleet.Endpoint, Owner: "acme", ID: "e"})
}
