package redisstore_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/storage/memory"
	"github.com/streamwatch/streamwatch/storage/redisstore"
)

// shownState describes a state without what is drawn at random. Terms are named by nodes.
func shownState(st fleet.State, err error, names map[string]string) string {
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	fmt.Fprintln(&b, names[st.Fence.Term], st.Fence.Generation, st.Own, st.Lease, st.Grants, st.Free, st.Beats, st.Epoch != 0)
	for _, m := range st.Members {
		fmt.Fprintf(&b, "%s %+v %v %v %d %v %q\n", names[m.Term], m.Node, m.Parts, m.Grants, m.Beats, m.Over, m.Says)
	}
	return b.String()
}

// Whatever nodes ask, in whatever order and as the clock goes, they get what a store gives
// them that has the terms in its memory.
func TestTermsAreThoseOfAnotherStore(t *testing.T) {
	t.Parallel()
	s, _, clock := open(t, redisstore.Options{})
	model := memory.New(memory.Options{Now: clock.Now})
	stores := []fleet.Members{s.Ports().Members, model.Ports().Members}
	journals := []detect.Journal{s.Ports().Journal, model.Ports().Journal}
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
	st, err := s.Ports().Members.Join(t.Context(), fleet.Node{Name: name, Weight: 1, Lease: lease})
	must(t, err)
	return st
}

// Leases and stamps go by the server's clock, whatever the clock of a process says.
func TestTimesAreByTheServersClock(t *testing.T) {
	server := miniredis.RunT(t)
	s, err := redisstore.Open(t.Context(), &redis.UniversalOptions{Addrs: []string{server.Addr()}}, redisstore.Options{AllowEviction: true})
	must(t, err)
	defer s.Close(t.Context())
	server.SetTime(start)
	one := join(t, s, "one", 10*time.Second)
	alone := func() error {
		return s.Ports().Journal.Commit(t.Context(), []*detect.Batch{{Cursor: &detect.Cursor{Target: "t"}}})
	}
	server.SetTime(start.Add(10*time.Second - time.Microsecond))
	st, err := s.Ports().Members.Look(t.Context())
	must(t, err)
	want(t, "over before its end", st.Members[0].Over, false)
	wantErr(t, alone(), fleet.ErrShared)
	server.SetTime(start.Add(10 * time.Second))
	st, err = s.Ports().Members.Look(t.Context())
	must(t, err)
	want(t, "over at its end", st.Members[0].Over, true)
	must(t, alone())
	stamped := commit(t, s, newEvent(acme, "1", "a")).Events[0].CommittedAt
	for what, at := range map[string]time.Time{"Ports.Now": s.Ports().Now(), "a commit": stamped} {
		if ahead := at.Sub(start.Add(10 * time.Second)); ahead < 0 || ahead > time.Minute {
			t.Errorf("%s is %s ahead of the server's clock", what, ahead)
		}
	}
	_, err = s.Ports().Members.Beat(t.Context(), fleet.Beat{Fence: one.Fence})
	wantErr(t, err, fleet.ErrFenced)
	want(t, "terms are left", server.Exists("{streamwatch}:members"), false)
}

// late is a connection whose answers are 50 ms under way.
type late struct{ net.Conn }

func (c late) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	<-time.After(50 * time.Millisecond)
	return n, err
}

// A clock that is right stays so, however long answers take: a monitor whose creation is stamped
// too late misses the posts until then.
func TestClockWithSlowAnswers(t *testing.T) {
	server := miniredis.RunT(t)
	s, err := redisstore.Open(t.Context(), &redis.UniversalOptions{Addrs: []string{server.Addr()},
		Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := (&net.Dialer{}).DialContext(ctx, network, addr)
			return late{c}, err
		}}, redisstore.Options{AllowEviction: true})
	must(t, err)
	defer s.Close(t.Context())
	if _, err := s.Ports().Members.Look(t.Context()); err != nil {
		t.Fatal(err)
	}
	if off := time.Until(s.Ports().Now()); off.Abs() > 10*time.Millisecond {
		t.Errorf("Ports.Now is %s ahead of the server's clock", off)
	}
}
