package redistest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

// throughProxy returns a server, a proxy before it, and a client of the proxy.
func throughProxy(t *testing.T) (*redis.Client, *Proxy, *miniredis.Miniredis) {
	server := miniredis.RunT(t)
	p := NewProxy(t, server.Addr())
	client := redis.NewClient(&redis.Options{Addr: p.Addr(), MaxRetries: -1, ContextTimeoutEnabled: true})
	t.Cleanup(func() { client.Close() })
	return client, p, server
}

func TestProxyPasses(t *testing.T) {
	client, _, server := throughProxy(t)
	pipe := client.Pipeline()
	const n = 100
	for i := range n {
		pipe.Set(t.Context(), fmt.Sprint("k", i), i, 0)
	}
	if _, err := pipe.Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := len(server.Keys()); got != n {
		t.Errorf("%d of %d pipelined requests arrived", got, n)
	}
}

func TestProxyCut(t *testing.T) {
	client, p, server := throughProxy(t)
	p.CutWhen(func(x Exchange) bool {
		return string(x.Request[0]) == "incr" && !x.Failed()
	})
	server.Set("text", "no number")
	var answered redis.Error
	if err := client.Incr(t.Context(), "text").Err(); !errors.As(err, &answered) {
		t.Errorf("error reply that judge does not cut: %v, want the server's error", err)
	}
	err := client.Incr(t.Context(), "n").Err()
	if err == nil {
		t.Error("a cut reply gave no error")
	}
	if got, _ := server.Get("n"); got != "1" {
		t.Errorf("the server has %q: want the request executed", got)
	}
	p.CutWhen(nil)
	if got, err := client.Incr(t.Context(), "n").Result(); got != 2 || err != nil {
		t.Errorf("after the cut: %d, %v, want 2", got, err)
	}
	if p.Cuts() != 1 {
		t.Errorf("%d cuts, want 1", p.Cuts())
	}
}

func TestProxyDelay(t *testing.T) {
	client, p, _ := throughProxy(t)
	if err := client.Ping(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	const delay = 50 * time.Millisecond
	p.Delay(delay)
	began := time.Now()
	if err := client.Ping(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took < delay {
		t.Errorf("the reply came after %v, want %v or more", took, delay)
	}
}

func TestProxyBlackHole(t *testing.T) {
	client, p, server := throughProxy(t)
	if err := client.Ping(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	p.BlackHole()
	p.BlackHole() // changes nothing
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := client.Set(ctx, "k", 1, 0).Err(); !timedOut(err) {
		t.Errorf("in a black hole: %v, want no answer in time", err)
	}
	if server.Exists("k") {
		t.Error("the request passed")
	}
	p.Pass()
	p.Pass()
	if err := client.Set(t.Context(), "k", 1, 0).Err(); err != nil {
		t.Errorf("after the black hole: %v", err)
	}
}

// timedOut reports whether err is a timeout. That may be the connection's, whose
// deadline is the context's, or the context's own: whichever is noticed first.
func timedOut(err error) bool {
	var late interface{ Timeout() bool }
	return errors.As(err, &late) && late.Timeout()
}

// A proxy whose server is down closes the connections that it accepts.
func TestProxyOfNobody(t *testing.T) {
	client, _, server := throughProxy(t)
	server.Close()
	if err := client.Ping(t.Context()).Err(); err == nil {
		t.Error("a server that is down answered")
	}
}
