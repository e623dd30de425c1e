package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/wshub"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/latency"
	"github.com/streamwatch/streamwatch/secret"
)

const (
	owner     = "acme"
	sockets   = 4 << 10 // bytes of a stalled client's socket buffers, so that it blocks soon
	warm      = 10      // events before it counts
	maxEvents = 100_000
)

// source is the monitor whose events are sent.
var source = deliver.Source{Kind: deliver.SourceMonitor, ID: "1", Owner: owner, Name: "bench"}

// nothing is a store in which there is nothing to replay: every event is
// announced in order.
type nothing struct{}

func (nothing) Events(context.Context, string, uint64, int) ([]deliver.Event, error) { return nil, nil }

// smallFirst accepts connections of which the first block soon when the client
// does not read. Only Serve calls Accept.
type smallFirst struct {
	*net.TCPListener
	small int
}

func (l *smallFirst) Accept() (net.Conn, error) {
	c, err := l.AcceptTCP()
	if err != nil || l.small == 0 {
		return c, err
	}
	l.small--
	return c, c.SetWriteBuffer(sockets)
}

// round is one measurement: latencies of all events to all clients that read.
func round(s settings, stalled int, lasts time.Duration) (latency.Snapshot, error) {
	hub, err := wshub.New(wshub.Options{Events: nothing{}, MaxPerKey: s.clients,
		Authenticate: func(context.Context, secret.Value) (wshub.Identity, error) {
			return wshub.Identity{Owner: owner, KeyID: "1"}, nil
		}})
	if err != nil {
		return latency.Snapshot{}, err
	}
	l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return latency.Snapshot{}, err
	}
	server := &http.Server{Handler: hub}
	var running sync.WaitGroup
	running.Go(func() { server.Serve(&smallFirst{l, stalled}) })
	m := &measurement{begun: make([]atomic.Int64, maxEvents), got: make(chan error, s.clients)}
	var conns []net.Conn
	defer func() {
		for _, c := range conns {
			c.Close()
		}
		server.Close()
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		hub.Shutdown(ctx)
		running.Wait()
	}()
	for i := range s.clients { // one after the other, so that the first are accepted first
		c, err := dial(l.Addr().String(), i < stalled)
		if err != nil {
			return latency.Snapshot{}, err
		}
		conns = append(conns, c.Conn)
		if len(conns) > stalled {
			running.Go(func() { m.got <- m.read(c) })
		}
	}
	return m.publish(hub, s, stalled, lasts)
}

// measurement is what a round's clients share.
type measurement struct {
	begun   []atomic.Int64 // by seq, in ns since the epoch; 0 before
	last    atomic.Uint64  // the last to read; 0 while it is not known
	counted latency.Histogram
	got     chan error // one when a client has read the last
}

func (m *measurement) publish(hub *wshub.Hub, s settings, stalled int, lasts time.Duration) (latency.Snapshot, error) {
	tick := time.NewTicker(s.every)
	defer tick.Stop()
	events := max(1, int(lasts/s.every)) + warm
	m.last.Store(uint64(min(events, maxEvents-1)))
	for seq := uint64(1); seq <= m.last.Load(); seq++ {
		ev := deliver.Event{Seq: seq, Source: source, TweetID: "1", AuthorUsername: "nasa"}
		text := "T-0: liftoff!"
		if seq <= warm { // fills the sockets of those that do not read
			text = strings.Repeat("x", 4000)
		}
		ev.Body = deliver.AppendBody(nil, &ev, &fetcher.Tweet{ID: "1", Text: text, Username: "nasa"})
		m.begun[seq].Store(time.Now().UnixNano())
		hub.Publish([]deliver.Event{ev})
		<-tick.C
	}
	late := time.After(10 * time.Second)
	for range s.clients - stalled {
		select {
		case err := <-m.got:
			if err != nil {
				return latency.Snapshot{}, err
			}
		case <-late:
			return latency.Snapshot{}, errors.New("websocket: clients that read have not got everything after 10 s")
		}
	}
	if st := hub.Stats(); stalled > 0 && st.Queued < int64(stalled) && st.Slow < int64(stalled) {
		return latency.Snapshot{}, fmt.Errorf("websocket: %d clients should have stalled: %+v", stalled, st)
	}
	return m.counted.Snapshot(), nil
}

// read takes the frames in order and records how late they are, but for those
// to warm up.
func (m *measurement) read(c client) error {
	for want := uint64(1); ; want++ {
		seq, err := c.seq()
		if err != nil {
			return err
		}
		if seq != want {
			return fmt.Errorf("websocket: a client got %d, want %d", seq, want)
		}
		if seq > warm {
			m.counted.Record(time.Duration(time.Now().UnixNano() - m.begun[seq].Load()))
		}
		if seq == m.last.Load() {
			return nil
		}
	}
}
