package main

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/internal/testsize"
	"github.com/streamwatch/streamwatch/storage"
)

// playedTogether runs one round of engines that share a store.
func playedTogether(t *testing.T, o options) *enginesRun {
	t.Helper()
	if testing.Short() || tempo > 1 {
		t.Skip("kills processes for some seconds")
	}
	o.dir = t.TempDir()
	r := newEnginesRun(o, t.Output())
	if err := r.play(t.Context()); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestEnginesShareAStore(t *testing.T) {
	for _, row := range []struct {
		kind string
		cuts int
	}{{kindSQLite, 0}, {kindRedis, 2}} {
		t.Run(row.kind, func(t *testing.T) {
			t.Parallel()
			if row.kind == kindRedis {
				needRedis(t, "redis-server")
			}
			each := testsize.Of(2, 2, 4) // kills and pauses
			r := playedTogether(t, options{kind: row.kind, fleet: 3, kills: each, pauses: each, cuts: row.cuts, seed: 1}.shared())
			var out strings.Builder
			if err := r.write(&out); err != nil {
				t.Fatal(err)
			}
			if len(r.tally.found) > 0 || r.tally.kills != each || r.paused != each || r.cut != row.cuts || r.tally.events < 20 || r.polls == 0 || r.tally.starts < 3+each ||
				!strings.HasSuffix(out.String(), "\n0 violations\n") {
				t.Error(out.String())
			}
		})
	}
}

func TestPlantedFaultsOfEnginesThatShareAreFound(t *testing.T) {
	for i, row := range []struct{ fault, invariant string }{
		{"charges for a detection twice", "I5"},
		{"sends what was accepted twice", "I3"},
		{"takes what the handler refuses as delivered", "I3"},
		{"does not end a stop", "process"},
	} {
		t.Run(row.fault, func(t *testing.T) {
			if i > 0 && !testsize.Long() {
				t.Skip("the harness is the same as in the row before: STREAMWATCH_LONG=1 runs all")
			}
			t.Parallel()
			o := options{kind: kindSQLite, fleet: 2, kills: 1, seed: 1, bug: row.fault}.shared()
			if row.invariant == "process" { // it is found when patience ends
				o.patience = 15 * time.Second
			}
			if r := playedTogether(t, o); !slices.ContainsFunc(r.tally.found, func(v violation) bool { return v.Invariant == row.invariant }) {
				t.Errorf("found %v, want a violation of %s", r.tally.found, row.invariant)
			}
		})
	}
}

// lateReplays tells of a replay that a new webhook began long after it began, and of every
// second with an error, as a store on a slow disk does: the webhook is deleted again, and
// has received by then.
type lateReplays struct {
	deliver.Replays
	n atomic.Int64
}

func (l *lateReplays) Start(ctx context.Context, r deliver.Replay) error {
	if err := l.Replays.Start(ctx, r); err != nil || !r.Until.IsZero() {
		return err
	}
	select {
	case <-ctx.Done():
	case <-time.After(pollInterval):
	}
	if l.n.Add(1)%2 == 0 {
		return nil
	}
	return errors.New("planted: the disk is slow")
}

func init() {
	bugs["tells late of replays"] = func(s storage.Store) storage.Store {
		return faultyReplays{s, &lateReplays{Replays: s.Replays()}}
	}
}

// A webhook that was made, and deleted because the store did not say so, is no violation.
func TestUndoneWebhooks(t *testing.T) {
	t.Parallel()
	r := playedTogether(t, options{kind: kindSQLite, fleet: 2, kills: 1, seed: 1, bug: "tells late of replays"}.shared())
	if len(r.tally.found) > 0 {
		t.Error(r.tally.found)
	}
}

// Two nodes that poll one account are seen in what the platform was asked.
func TestSharedPolls(t *testing.T) {
	w := &world{pollers: map[string][]poller{"/a": {{"1", at(0)}, {"1", at(0)}, {"2", at(0).Add(pollInterval / 4)}, {"1", at(9)}}, "/b": {{"2", at(0)}}}}
	if polls, twice := w.shared(); polls != 5 || twice != 1 {
		t.Errorf("%d polls, %d of them twice, want 5 and 1", polls, twice)
	}
}

func TestProxy(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() { // it sends back what it gets
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = io.Copy(c, c)
			}()
		}
	}()
	p, err := newProxy(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	within := func(d time.Duration, c net.Conn) bool {
		c.SetDeadline(time.Now().Add(d))
		b := make([]byte, 1)
		_, err := c.Write([]byte("x"))
		if err == nil {
			_, err = io.ReadFull(c, b)
		}
		return err == nil && b[0] == 'x'
	}
	answers := func(c net.Conn) bool { return within(time.Minute, c) }
	still := func(c net.Conn) bool { return within(200*time.Millisecond, c) } // what is silent never ends
	dial := func() net.Conn {
		c, err := net.Dial("tcp", p.addr())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	for _, how := range []proxyState{refuses, silent} {
		before := dial()
		if !answers(before) {
			t.Fatal("nothing passes")
		}
		p.cut(how)
		if still(before) || still(dial()) {
			t.Errorf("state %d: something passes", how)
		}
		p.heal()
		if still(before) {
			t.Errorf("state %d: an old connection lives again", how)
		}
		if !answers(dial()) {
			t.Errorf("state %d: nothing passes any more", how)
		}
	}
}
