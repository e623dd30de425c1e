package wshub_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/wshub"
	"github.com/streamwatch/streamwatch/secret"
)

// wantsRefusal reads an error frame with a code and a message, and the close by
// the same.
func (c *client) wantsRefusal(code int, message string) {
	c.t.Helper()
	m, err := c.read()
	if err != nil || m.Type != "error" || m.Code != code || m.Message != message {
		c.t.Fatalf("frame %+v, %v: want the error %d %q", m, err, code, message)
	}
	var ce websocket.CloseError
	if _, err = c.read(); !errors.As(err, &ce) || int(ce.Code) != code || ce.Reason != message {
		c.t.Fatalf("end %v: want %d %q", err, code, message)
	}
}

// Who narrows the stream to what the owner does not have would wait for ever.
func TestUnknownMonitorOrRuleIsRefused(t *testing.T) {
	has := func(_ context.Context, owner string, kind deliver.SourceKind, id string) (bool, error) {
		for _, src := range []deliver.Source{alpha, beta, gamma, other} {
			if src.Owner == owner && src.Kind == kind && src.ID == id {
				return true, nil
			}
		}
		return false, nil
	}
	long := strings.Repeat("\U0010ffff", 32)
	for query, want := range map[string]string{
		"monitor_id=mon_a&rule_id=rul_c":   "",
		"monitor_id=mon_a&monitor_id=nope": `no such monitor: "nope"`,
		"monitor_id=mon_x":                 `no such monitor: "mon_x"`,
		"monitor_id=rul_c":                 `no such monitor: "rul_c"`,
		"rule_id=mon_a&since=0":            `no such rule: "mon_a"`,
		"rule_id=" + long:                  (`no such rule: "` + strings.Repeat(`\U0010ffff`, 12))[:123],
	} {
		inWorld(t, func(o *wshub.Options) { o.Has = has }, func(t *testing.T, w *world) {
			c := w.open(query)
			if want == "" {
				c.wants("connected 0")
				return
			}
			c.wantsRefusal(4004, want)
			if n := w.hub.Stats().Refused; n != 1 {
				t.Errorf("%d refused, want 1", n)
			}
		})
	}
	down := func(context.Context, string, deliver.SourceKind, string) (bool, error) { return false, errDown }
	inWorld(t, func(o *wshub.Options) { o.Has = down }, func(t *testing.T, w *world) {
		w.open("monitor_id=mon_a").wantsEnd(websocket.StatusTryAgainLater)
	})
}

// A client that resumes after what the store does not have any more is told
// that it has missed all there is, and goes on.
func TestSinceBeyondTheNewest(t *testing.T) {
	for since, n := range map[string]int{"99": 5, "6": 5, "1": 0, "7.3": 5, "7.0": 0} {
		t.Run(fmt.Sprintf("%s of %d", since, n), func(t *testing.T) {
			inWorld(t, nil, func(t *testing.T, w *world) {
				w.store.commit(repeat(alpha, n)...)
				c := w.open("since=" + since + "&monitor_id=mon_a")
				c.wants("connected 0", fmt.Sprintf("gap 1-%d", n))
				w.hub.Publish(w.store.commit(beta, alpha))
				c.wants(fmt.Sprintf("tweet %d", n+2))
			})
		})
	}
}

func TestAnOwnersConnectionsAreBounded(t *testing.T) {
	var revoked atomic.Bool
	inWorld(t, func(o *wshub.Options) {
		o.MaxPerOwner = 2
		o.Authenticate = func(_ context.Context, key secret.Value) (wshub.Identity, error) { // two keys of one owner
			if revoked.Load() {
				return wshub.Identity{}, wshub.ErrBadKey
			}
			return wshub.Identity{Owner: "ann", KeyID: string(key)}, nil
		}
	}, func(t *testing.T, w *world) {
		first := w.openAs("one", "")
		first.wants("connected 0")
		w.openAs("two", "").wants("connected 0")
		synctest.Wait()
		before := runtime.NumGoroutine()
		w.openAs("three", "").wantsRefusal(4003, "too many connections: the account has 2 of at most 2")
		synctest.Wait()
		for i := 0; i < 1000 && runtime.NumGoroutine() > before; i++ {
			runtime.Gosched() // one outside of this test may be about to end
		}
		if n := runtime.NumGoroutine() - before; n > 0 { // a goroutine of an earlier test may end
			t.Errorf("the refused key leaves %d goroutines", n)
		}
		first.ws.CloseNow()
		synctest.Wait()
		third := w.openAs("three", "")
		third.wants("connected 0")
		w.hub.SetMaxPerOwner(3)
		w.openAs("four", "").wants("connected 0")
		w.openAs("five", "").wantsRefusal(4003, "too many connections: the account has 3 of at most 3")
		revoked.Store(true) // its key is watched, although it was refused before
		third.wantsRefusal(4001, "key not valid any more")
	})
}

func TestConnectionsWithoutAKeyAreBoundedPerAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(o *wshub.Options) { o.MaxKeylessPerAddress, o.MaxConnections = 2, 20 })
		open := func(addr string) *client {
			t.Helper()
			w.from = addr
			c, _, err := w.connect("", nil)
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait() // the hub has counted it, or refused it
			return c
		}
		wait := []*client{open("192.0.2.1:1"), open("192.0.2.1:2"), open("[2001:db8::1]:1"), open("[2001:db8::2]:1")}
		const here = "too many connections without a key from this address"
		for _, addr := range []string{"192.0.2.1:3", "[::ffff:192.0.2.1]:4", "[2001:db8:0:0:9::]:1"} {
			if got, code, reason := open(addr).rest(); len(got) > 0 || code != websocket.StatusTryAgainLater || reason != here {
				t.Errorf("%s: %q, %d %q: want it refused", addr, got, code, reason)
			}
		}
		wait[0].write(`{"type":"auth","api_key":"key-ann"}`) // makes room
		wait[0].wants("connected 0")
		wait = append(wait, open("192.0.2.1:5"), open("192.0.2.2:1"))
		if _, _, reason := open("[2001:db8:0:1::1]:1").rest(); reason != "no room for another connection without a key" {
			t.Errorf("beyond a quarter of all: %q", reason)
		}
		advance(5 * time.Second)
		for _, c := range wait[1:] {
			c.wantsRefusal(4001, "no key within 5 s")
		}
		wait = []*client{open("192.0.2.1:6"), open("192.0.2.1:7")}
		synctest.Wait()
		for _, c := range wait {
			c.ws.CloseNow()
		}
	})
}
