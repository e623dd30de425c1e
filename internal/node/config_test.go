package node_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/internal/node"
	"github.com/streamwatch/streamwatch/storage/memory"
)

func TestNewRefuses(t *testing.T) {
	s := memory.New(memory.Options{})
	defer s.Close(context.Background())
	good := node.Config{Node: fleet.Node{Name: "a", Weight: 1, Lease: lease}, Members: s.Ports().Members, Signals: s.Ports().Signals, Host: &host{}}
	if _, err := node.New(good); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*node.Config){
		"Name":    func(c *node.Config) { c.Node.Name = "" },
		"64":      func(c *node.Config) { c.Node.Name = strings.Repeat("a", 65) },
		"Weight":  func(c *node.Config) { c.Node.Weight = 0 },
		"Lease":   func(c *node.Config) { c.Node.Lease = 999 * time.Millisecond },
		"10m":     func(c *node.Config) { c.Node.Lease = 11 * time.Minute },
		"milli":   func(c *node.Config) { c.Node.Lease += time.Microsecond },
		"Members": func(c *node.Config) { c.Members = nil },
		"Signals": func(c *node.Config) { c.Signals = nil },
		"Host":    func(c *node.Config) { c.Host = nil },
	} {
		bad := good
		change(&bad)
		if _, err := node.New(bad); err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "node: ") {
			t.Errorf("got %v, want an error that names %s", err, want)
		}
	}
}

func TestAfterLeave(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		m := w.start("a")
		w.until(lease, "all is polled", w.covered)
		last := m.Fence()
		m.leave()
		if m.Fence() != last || m.count() != 0 || m.State().Trusted {
			t.Errorf("after Leave: %v with %d parts, trusted %t; want %v, so that commits are refused, and none", m.Fence(), m.count(), m.State().Trusted, last)
		}
		if _, ok := m.Moved(t.Context(), last); ok {
			t.Error("a commit after Leave is to be tried again")
		}
	})
}

func TestFingerprints(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.start("a")
		w.start("b", func(c *node.Config) { c.Node.Fingerprint = "other" })
		w.until(lease, "they share the parts", w.even)
		pass(3 * lease)
		if n := w.logged("other settings"); n != 1 {
			t.Errorf("warned %d times, want once by the node that joins", n)
		}
	})
}

// A store that is not there for a moment does not fail Join; one that stays away does.
func TestJoinTries(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		join := func(after time.Duration) error {
			l := newWire(w)
			l.set(cut)
			go func() {
				pass(after)
				l.set(up)
			}()
			h := &host{w: w, grants: map[string]float64{}, dead: true}
			n, err := node.New(node.Config{Node: fleet.Node{Name: "a", Weight: 1, Lease: lease}, Host: h,
				Members: wiredMembers{l, w.store.Ports().Members}, Signals: w.store.Ports().Signals})
			if err != nil {
				t.Fatal(err)
			}
			return n.Join(t.Context())
		}
		if err := join(3 * time.Second); err != nil {
			t.Error(err)
		}
		if err := join(time.Minute); err == nil {
			t.Error("joined a store that is away for longer than a lease")
		}
		pass(time.Minute)
	})
}
