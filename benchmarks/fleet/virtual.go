package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// world is a fleet in virtual time.
type world struct {
	options
	t     *testing.T
	store *memory.Store
	size  [fleet.Parts]int // accounts of a part
	spans [fleet.Parts]spans
	lost  atomic.Int64 // terms, without a crash

	mu    sync.Mutex
	lives []*life
}

// span is from when to when a life has polled a part.
type span struct {
	life     int
	from, to time.Time
}

// spans are those of a part.
type spans struct {
	mu   sync.Mutex
	list []span
}

func (s *spans) add(one span) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = append(s.list, one)
}

// crash is the sudden end of a node.
type crash struct {
	at   time.Time
	life int
	own  fleet.Set
}

// outcome is what a run found.
type outcome struct {
	name                 string
	begun                time.Duration // until all parts were polled
	moved, beats, most   int           // after a node was added
	mostAccounts         float64       // of that node, by the mean
	crashes, stops       []time.Duration
	owners               []time.Duration
	polls, wanted, twice int
	highest, lowest      float64 // sum of grants
	lost                 int64
}

func inVirtualTime(t *testing.T, o options, nodes int) (out outcome) {
	names := sample(o.accounts)
	sizes := partSizes(o.accounts)
	synctest.Test(t, func(t *testing.T) {
		w := &world{options: o, t: t, store: memory.New(memory.Options{}), size: sizes}
		out = w.play(nodes)
		defer w.store.Close(t.Context())
		w.judge(&out, names)
	})
	return out
}

func username(i int) string { return fmt.Sprintf("a%07d", i) }

// maxSample is how many accounts' polls are followed.
const maxSample = 100_000

// sample is every nth account.
func sample(accounts int) (names []string) {
	step := max(1, accounts/maxSample)
	for i := 0; i < accounts; i += step {
		names = append(names, username(i))
	}
	return names
}

func partOf(name string) fleet.Part { return fleet.PartOf("account:" + name) }

func partSizes(accounts int) (size [fleet.Parts]int) {
	for i := range accounts {
		size[partOf(username(i))]++
	}
	return size
}

// play lets a fleet live through everything.
func (w *world) play(nodes int) (out outcome) {
	out.name = fmt.Sprintf("%d nodes, %d accounts, virtual time", nodes, w.accounts)
	rnd := rand.New(rand.NewPCG(w.seed, 1))
	begin := time.Now()
	w.watchGrants(&out, begin.Add(2*time.Minute))
	living := make(map[string]*life)
	for i := range nodes {
		name := fmt.Sprintf("node-%03d", i)
		living[name] = w.start(name)
	}
	out.begun = w.until(func() bool { return w.owned() == fleet.Parts })
	<-time.After(time.Minute - time.Since(begin))

	// One more.
	before := w.parts()
	extra := fmt.Sprintf("node-%03d", nodes)
	joined := time.Now()
	living[extra] = w.start(extra)
	share := (fleet.Parts + nodes) / (nodes + 1)
	w.until(func() bool { return w.owned() == fleet.Parts && w.most() <= share })
	out.beats = int(math.Ceil(float64(time.Since(joined)) / float64(lease/4)))
	<-time.After(time.Minute)
	out.moved, out.most = movedParts(before, w.parts()), w.most()
	out.mostAccounts = w.mostAccounts() / (float64(w.accounts) / float64(nodes+1))

	crashes := w.crashing(living, rnd, &out, begin)
	stops := w.deploying(living, rnd, begin)
	<-time.After(w.For - time.Since(begin))
	for _, l := range living {
		l.crash()
	}
	w.follow(crashes, stops, &out)
	out.lost = w.lost.Load()
	return out
}

// crashing has nodes die in the first half, each replaced after a minute.
func (w *world) crashing(living map[string]*life, rnd *rand.Rand, out *outcome, begin time.Time) (list []crash) {
	for i := range w.crashes {
		at := begin.Add(3*time.Minute + (w.For/2-3*time.Minute)*time.Duration(i)/time.Duration(w.crashes))
		<-time.After(time.Until(at) + time.Duration(rnd.Float64()*float64(20*time.Second)))
		names := keys(living)
		name := names[rnd.IntN(len(names))]
		l := living[name]
		list = append(list, crash{time.Now(), l.id, l.crash()})
		<-time.After(min(time.Minute, (w.For/2-3*time.Minute)/time.Duration(2*w.crashes)))
		living[name] = w.start(name)
	}
	return list
}

// deploying stops and starts every node, in the second half.
func (w *world) deploying(living map[string]*life, rnd *rand.Rand, begin time.Time) (list []crash) {
	if !w.deploy {
		return nil
	}
	<-time.After(w.For/2 + 30*time.Second - time.Since(begin))
	names := keys(living)
	each := (w.For/2 - time.Minute) / time.Duration(len(names))
	for _, name := range names {
		next := time.Now().Add(each)
		l := living[name]
		l.mu.Lock()
		list = append(list, crash{time.Now(), l.id, l.own})
		l.mu.Unlock()
		l.leave()
		<-time.After(time.Duration((0.5 + rnd.Float64()) * float64(time.Second))) // a process starts
		living[name] = w.start(name)
		<-time.After(time.Until(next))
	}
	return list
}

func keys(living map[string]*life) (names []string) {
	for name := range living {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// watchGrants looks at the sum of the rates all the time.
func (w *world) watchGrants(out *outcome, steady time.Time) {
	out.lowest = 1
	go func() {
		for end := time.Now().Add(w.For - time.Second); time.Now().Before(end); <-time.After(50 * time.Millisecond) {
			sum := 0.0
			w.each(func(l *life) { sum += l.grant })
			out.highest = max(out.highest, sum/budget)
			if now := time.Now(); now.After(steady.Add(-10*time.Second)) && now.Before(steady) {
				out.lowest = min(out.lowest, sum/budget)
			}
		}
	}()
}

// each calls f for the lives that are not dead.
func (w *world) each(f func(*life)) {
	w.mu.Lock()
	lives := slices.Clone(w.lives)
	w.mu.Unlock()
	for _, l := range lives {
		l.mu.Lock()
		if !l.dead.Load() {
			f(l)
		}
		l.mu.Unlock()
	}
}

// until waits for a condition, and returns how long that took.
func (w *world) until(ok func() bool) time.Duration {
	for begun := time.Now(); ; <-time.After(10 * time.Millisecond) {
		took := time.Since(begun)
		if ok() {
			return took
		}
		if took > 2*time.Minute {
			w.t.Fatalf("fleet: the parts are not shared out after %s", took)
		}
	}
}

func (w *world) owned() (n int) {
	w.each(func(l *life) { n += l.own.Len() })
	return n
}

func (w *world) most() (n int) {
	w.each(func(l *life) { n = max(n, l.own.Len()) })
	return n
}

func (w *world) mostAccounts() (most float64) {
	w.each(func(l *life) {
		n := 0
		for p := range l.own.All() {
			n += w.size[p]
		}
		most = max(most, float64(n))
	})
	return most
}

// parts are the owners of all parts.
func (w *world) parts() (owner [fleet.Parts]int) {
	w.each(func(l *life) {
		for p := range l.own.All() {
			owner[p] = l.id
		}
	})
	return owner
}

func movedParts(a, b [fleet.Parts]int) (n int) {
	for p := range a {
		if a[p] != b[p] {
			n++
		}
	}
	return n
}
