package wshub_test

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/streamwatch/streamwatch/deliver/wshub"
)

// BenchmarkFanOut sends events to 1,000 clients of one owner over loopback, one
// when all have the one before: ns/frame is the time for one frame to one
// client, the clients' reading included; the allocations are those of an event
// to all 1,000.
func BenchmarkFanOut(b *testing.B) {
	const clients = 1000
	w := newWorld(b, func(o *wshub.Options) { o.MaxPerKey = clients })
	w.store.last["ann"] = 1_000_000 // all frames have one length
	w.store.commit(alpha)
	srv := httptest.NewServer(w.hub)
	defer srv.Close()
	var readers sync.WaitGroup
	defer readers.Wait()
	defer w.hub.Shutdown(context.Background())
	conns := make([]net.Conn, clients)
	for i := range conns {
		nc, err := net.Dial("tcp", srv.Listener.Addr().String())
		if err != nil {
			b.Fatal(err)
		}
		defer nc.Close()
		conns[i] = handshake(b, nc, "")
		frameBytes(b, nc) // connected
	}
	w.hub.Publish(w.store.commit(alpha))
	var length int
	for _, nc := range conns {
		length = frameBytes(b, nc)
	}
	var received, want atomic.Int64
	all := make(chan struct{}, 1)
	for _, nc := range conns {
		readers.Go(func() {
			buf := make([]byte, 16<<10)
			for {
				n, err := nc.Read(buf)
				if err != nil {
					return
				}
				if received.Add(int64(n)) == want.Load() {
					all <- struct{}{}
				}
			}
		})
	}
	b.ReportAllocs()
	for b.Loop() {
		evs := w.store.commit(alpha)
		want.Add(int64(clients * length))
		w.hub.Publish(evs)
		<-all
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/clients, "ns/frame")
}

// frameBytes reads one frame of 126 to 65,535 bytes, or a shorter one.
func frameBytes(b *testing.B, r io.Reader) int {
	head := make([]byte, 4)
	if _, err := io.ReadFull(r, head[:2]); err != nil {
		b.Fatal(err)
	}
	n, size := int(head[1]), 2
	if n == 126 {
		if _, err := io.ReadFull(r, head[2:]); err != nil {
			b.Fatal(err)
		}
		n, size = int(binary.BigEndian.Uint16(head[2:])), 4
	}
	if _, err := io.CopyN(io.Discard, r, int64(n)); err != nil {
		b.Fatal(err)
	}
	return size + n
}
