package redisstore_test

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/internal/testsize"
	"github.com/streamwatch/streamwatch/storage/redisstore"
	"github.com/streamwatch/streamwatch/storage/redisstore/internal/redistest"
	"github.com/streamwatch/streamwatch/storage/storetest"
)

var (
	cutsWanted = flag.Int("cuts", 0, "replies of writing calls that TestServerLostReplies loses, 0: 300, or 1000 in a long run")
	seed       = flag.Uint64("seed", 1, "makes random tests take other ways")
)

// When connections are cut after a script was executed and before its reply arrives, the
// store tries again. Every call returns and records the same as on a twin store that gets
// every reply.
func TestServerLostReplies(t *testing.T) {
	server := redistest.Single(t)
	proxy := redistest.NewProxy(t, server.Addr())
	clock := storetest.NewClock()
	opts := redisstore.Options{Now: clock.Now, Retention: 10 * time.Minute, RetryFor: 30 * time.Second}

	var chance atomic.Int64 // of losing a script's reply, in percent
	var mu sync.Mutex
	dice := rand.New(rand.NewPCG(*seed, 1))
	proxy.CutWhen(func(x redistest.Exchange) bool {
		mu.Lock()
		defer mu.Unlock()
		// A script that the server did not know was not executed.
		return strings.HasPrefix(string(x.Request[0]), "eval") && !x.Failed() && dice.Int64N(100) < chance.Load()
	})
	chance.Store(70) // while the store is opened, too
	lossy := openServer(t, proxy.Addr(), opts)
	twin := openServer(t, server.Addr(), opts)

	tr := &traffic{clock: clock, peek: twin}
	var ways []trafficCall // each as often as its weight says
	for _, c := range tr.calls() {
		for range c.weight {
			ways = append(ways, c)
		}
	}
	cuts := map[string]int{} // by method
	made, lost := 0, 0
	wanted := cmp.Or(*cutsWanted, testsize.Of(300, 300, 1000))
	for choice := rand.New(rand.NewPCG(*seed, 2)); lost < wanted; made++ {
		c, key := ways[choice.IntN(len(ways))], choice.Uint64()
		before := proxy.Cuts()
		chance.Store(50)
		got, err := c.do(t.Context(), lossy, rand.New(rand.NewPCG(key, 0)))
		chance.Store(0)
		cuts[c.name] += proxy.Cuts() - before
		if c.writes {
			lost += proxy.Cuts() - before
		}
		want, wantErr := c.do(t.Context(), twin, rand.New(rand.NewPCG(key, 0)))
		if d := difference(got, want); d != "" || fmt.Sprint(err) != fmt.Sprint(wantErr) {
			t.Fatalf("call %d, %s, after %d lost replies: %s\nthe error is %v, without losses %v", made, c.name, proxy.Cuts()-before, d, err, wantErr)
		}
		if errors.Is(err, redisstore.ErrUnknown) {
			t.Fatalf("call %d, %s: %v", made, c.name, err)
		}
		if claimed, ok := got.([]deliver.Delivery); ok {
			tr.claimed = append(tr.claimed, claimed...)
		}
		clock.Advance(time.Duration(choice.IntN(4000)) * time.Millisecond)
		if made%500 == 499 {
			sameContents(t, lossy, twin)
		}
	}
	sameContents(t, lossy, twin)

	t.Logf("%d calls, %d lost replies of calls that write, %d of others: %v", made, lost, proxy.Cuts()-lost, cuts)
	for _, c := range tr.calls() {
		if enough := wanted / 100; c.writes && cuts[c.name] < enough {
			t.Errorf("%s lost %d replies, want %d or more for the test to be of use", c.name, cuts[c.name], enough)
		}
	}
	if again := lossy.Stats().Retries; again < int64(proxy.Cuts()) {
		t.Errorf("Stats.Retries is %d after %d lost replies", again, proxy.Cuts())
	}
	if other := twin.Stats().Retries; other != 0 {
		t.Errorf("the store without losses tried %d calls again", other)
	}
}

func sameContents(t *testing.T, lossy, twin *redisstore.Store) {
	t.Helper()
	got, want := contents(t, lossy), contents(t, twin)
	for what := range want {
		if d := difference(got[what], want[what]); d != "" {
			t.Errorf("%s: %s", what, d)
		}
	}
	if t.Failed() {
		t.FailNow()
	}
}

// difference describes where two lists or other values differ, "" if they are equal.
func difference(got, want any) string {
	if reflect.DeepEqual(got, want) {
		return ""
	}
	g, w := reflect.ValueOf(got), reflect.ValueOf(want)
	if g.Kind() != reflect.Slice || w.Kind() != reflect.Slice {
		return fmt.Sprintf("got %+v\nwant %+v", got, want)
	}
	for i := range min(g.Len(), w.Len()) {
		if g, w := g.Index(i).Interface(), w.Index(i).Interface(); !reflect.DeepEqual(g, w) {
			return fmt.Sprintf("of %d and %d, number %d:\ngot  %+v\nwant %+v", reflect.ValueOf(got).Len(), reflect.ValueOf(want).Len(), i, g, w)
		}
	}
	return fmt.Sprintf("got %d, want %d", g.Len(), w.Len())
}
