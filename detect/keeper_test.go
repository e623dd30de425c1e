package detect

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// spender is a process on a world that may spend 100 events a day.
type spender struct {
	*Detector
	stream *wire
	kill   context.CancelFunc
	ended  chan error
	log    *bytes.Buffer // read it once the process has ended
}

func spends(t *testing.T, w *world, node, platform string) spender {
	t.Helper()
	ctx, kill := context.WithCancel(t.Context())
	p := spender{stream: newWire(), kill: kill, ended: make(chan error, 1), log: &bytes.Buffer{}}
	p.Detector = w.detector(t, func(c *settings) {
		c.Node, c.Platform, c.Roles.Stream, c.Cost = node, platform, p.stream, Cost{Prices: fetcher.Prices{Event: 1}, Limit: 100}
		c.Logger = slog.New(slog.NewTextHandler(p.log, nil))
	})
	set(t, p.Detector, sub("m", "nasa"+node))
	go func() { p.ended <- p.Run(ctx) }()
	synctest.Wait()
	return p
}

func (p spender) spend(events int64) {
	p.stream.out <- fetcher.Signal{Kind: fetcher.SignalHeartbeat, Billed: fetcher.Billed{Events: events}}
	synctest.Wait()
}

func (p spender) stop() {
	p.Stop()
	<-p.ended
	p.kill()
}

// What was spent counts in the next process of the platform: to the last event before a stop, and
// to 10 s before the process was killed.
func TestSpendOutlivesTheProcess(t *testing.T) {
	for name, row := range map[string]struct {
		end  func(p spender)
		next string // platform of the next process
		want float64
	}{
		"stop":             {spender.stop, "", 50},
		"kill":             {func(p spender) { p.kill(); <-p.ended }, "", 30},
		"another platform": {spender.stop, "b", 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				p := spends(t, w, "", "")
				p.spend(30)
				after(keepEvery)
				p.spend(20)
				row.end(p)
				p = spends(t, w, "", row.next)
				defer p.stop()
				if got := p.Stats().Cost.Today; got != row.want {
					t.Errorf("%v spent today, want %v", got, row.want)
				}
			})
		})
	}
}

// Nodes that store at the same moment lose nothing of each other.
func TestNodesStoreAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.slowState = time.Second
		var nodes []spender
		for _, name := range []string{"a", "b", "c", "d"} {
			nodes = append(nodes, spends(t, w, name, ""))
		}
		for _, p := range nodes {
			p.spend(25)
		}
		after(keepEvery + 5*time.Second) // one of them is not refused, a second later one of the others, …
		next := spends(t, w, "e", "")
		after(time.Second)
		if !next.Stats().Cost.Closed {
			t.Errorf("100 of 100 are spent by four nodes, and the next one has %+v", next.Stats().Cost)
		}
		for _, p := range append(nodes, next) {
			p.stop()
		}
	})
}

// The first polls wait for the overlap, 2 s at most.
func TestFirstPollsWaitForTheOverlap(t *testing.T) {
	for slow, want := range map[time.Duration]time.Duration{0: 0, time.Second: time.Second, time.Minute: rulesWait} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld()
			w.slowState = slow
			d := w.detector(t, nil)
			set(t, d, sub("m", "nasa"))
			began := time.Now()
			stop := start(t, d)
			after(5 * time.Second)
			if got := w.callTimes("nasa")[0].Sub(began); got < want || got > want+10*time.Millisecond {
				t.Errorf("first poll after %s when the state takes %s, want %s", got, slow, want)
			}
			stop()
		})
	}
}

// While the state fails, the process goes on, and what it has then is stored later: added to what
// could not be read at first.
func TestStateFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		p := spends(t, w, "", "")
		p.spend(30)
		p.late.Begin(20 * time.Minute)
		p.stop()
		w.do(func() { w.stateErr = errors.New("down") })
		p = spends(t, w, "", "")
		p.spend(20)
		if c, l := p.Stats().Cost, p.Stats().Lateness; c.Today != 20 || l.Overlap != 3*time.Minute {
			t.Errorf("%v spent and an overlap of %s, want what the process has itself", c.Today, l.Overlap)
		}
		after(3 * keepEvery)
		w.do(func() { w.stateErr = nil })
		after(keepEvery)
		if c, l := p.Stats().Cost, p.Stats().Lateness; c.Today != 50 || l.Overlap != 20*time.Minute {
			t.Errorf("%v spent and an overlap of %s, want 50 and 20m", c.Today, l.Overlap)
		}
		p.stop()
		if n := strings.Count(p.log.String(), "cannot read or store a value"); n != 8 {
			t.Errorf("%d lines of the failures, want one for each value and try:\n%s", n, p.log)
		}
		p = spends(t, w, "", "")
		defer p.stop()
		if c := p.Stats().Cost; c.Today != 50 {
			t.Errorf("%v spent in the next process, want 50", c.Today)
		}
	})
}
