package webhook_test

import (
	"bufio"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/internal/delivertest"
	"github.com/streamwatch/streamwatch/deliver/webhook"
	"github.com/streamwatch/streamwatch/internal/netguard"
)

var quiet = log.New(io.Discard, "", 0)

func publicName(context.Context, string) ([]netip.Addr, error) {
	return []netip.Addr{netip.MustParseAddr("93.184.216.34")}, nil
}

// receiver plays a script on each connection to it, after it has read the
// request's headers. The script is stopped by closing the connection.
func receiver(t *testing.T, script func(net.Conn)) (url string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	var conns []net.Conn
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns = append(conns, c)
			mu.Unlock()
			wg.Go(func() {
				defer c.Close()
				r := bufio.NewReader(c)
				for line := ""; line != "\r\n"; {
					if line, err = r.ReadString('\n'); err != nil {
						return
					}
				}
				script(c)
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		mu.Lock()
		for _, c := range conns {
			c.Close()
		}
		mu.Unlock()
		wg.Wait()
	})
	return "http://" + l.Addr().String()
}

// forever writes s until the connection ends, with pauses.
func forever(c net.Conn, s string, pause time.Duration) {
	tick := time.NewTicker(max(pause, 1))
	defer tick.Stop()
	b := []byte(s)
	for {
		if _, err := c.Write(b); err != nil {
			return
		}
		if pause > 0 {
			<-tick.C
		}
	}
}

func hang(c net.Conn) { io.Copy(io.Discard, c) }

func TestHostileReceivers(t *testing.T) { eachClient(t, testHostileReceivers) }

func testHostileReceivers(t *testing.T, own bool, sender newSender) {
	block := strings.Repeat("x", 32<<10)
	bomb := func() string {
		var b strings.Builder
		z := gzip.NewWriter(&b)
		for range 512 {
			io.WriteString(z, block) // 16 MiB in all
		}
		z.Close()
		return b.String()
	}()
	tests := []struct {
		name   string
		script func(net.Conn)
		want   deliver.Result // without the preview
	}{
		{"accepts and is silent", hang, deliver.Result{Error: "timeout"}},
		{"closes at once", func(net.Conn) {}, deliver.Result{Error: "connection closed before an answer"}},
		{"resets", func(c net.Conn) { c.(*net.TCPConn).SetLinger(0) }, deliver.Result{Error: "connection reset"}},
		{"closes its half", func(c net.Conn) {
			c.(*net.TCPConn).CloseWrite()
			hang(c)
		}, deliver.Result{Error: "connection closed before an answer"}},
		{"answers the half", func(c net.Conn) {
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Le")
			c.(*net.TCPConn).CloseWrite()
			hang(c)
		}, deliver.Result{Error: "no valid answer"}},
		{"endless body", func(c net.Conn) {
			io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n")
			forever(c, block, 0)
		}, deliver.Result{OK: true, StatusCode: 200}},
		{"body of a claimed terabyte", func(c net.Conn) {
			io.WriteString(c, "HTTP/1.1 500 No\r\nContent-Length: 1099511627776\r\n\r\n")
			forever(c, block, 0)
		}, deliver.Result{StatusCode: 500, Error: "status 500"}},
		{"endless chunks of a byte", func(c net.Conn) {
			io.WriteString(c, "HTTP/1.1 500 No\r\nTransfer-Encoding: chunked\r\n\r\n")
			forever(c, "1\r\nx\r\n", 0)
		}, deliver.Result{StatusCode: 500, Error: "status 500"}},
		{"body that drips", func(c net.Conn) {
			io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n")
			forever(c, "x", 10*time.Millisecond)
		}, deliver.Result{OK: true, StatusCode: 200}},
		{"headers that drip", func(c net.Conn) {
			io.WriteString(c, "HTTP/1.1 200 OK\r\n")
			forever(c, "X: x\r\n", 10*time.Millisecond)
		}, deliver.Result{Error: "timeout"}},
		{"endless headers", func(c net.Conn) {
			io.WriteString(c, "HTTP/1.1 200 OK\r\n")
			forever(c, "X: x\r\n", 0)
		}, deliver.Result{Error: "no valid answer"}},
		{"one endless header", func(c net.Conn) {
			io.WriteString(c, "HTTP/1.1 200 OK\r\nX: ")
			forever(c, block, 0)
		}, deliver.Result{Error: "no valid answer"}},
		{"headers of 20 KiB", func(c net.Conn) {
			io.WriteString(c, "HTTP/1.1 200 OK\r\nX: "+block[:20<<10]+"\r\nContent-Length: 0\r\n\r\n")
			hang(c)
		}, deliver.Result{Error: "no valid answer"}},
		{"headers of 12 KiB", func(c net.Conn) {
			io.WriteString(c, "HTTP/1.1 200 OK\r\nX: "+block[:12<<10]+"\r\nContent-Length: 0\r\n\r\n")
			hang(c)
		}, deliver.Result{OK: true, StatusCode: 200}},
		{"endless early hints", func(c net.Conn) { forever(c, "HTTP/1.1 103 Early Hints\r\n\r\n", 0) }, deliver.Result{Error: "no valid answer"}},
		{"gzip bomb that was not asked for", func(c net.Conn) {
			fmt.Fprintf(c, "HTTP/1.1 500 No\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s", len(bomb), bomb)
			hang(c)
		}, deliver.Result{StatusCode: 500, Error: "status 500"}},
		{"not HTTP", func(c net.Conn) {
			io.WriteString(c, "220 mail ESMTP\r\n")
			hang(c)
		}, deliver.Result{Error: "no valid answer"}},
		{"another protocol", func(c net.Conn) {
			io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n")
			hang(c)
		}, deliver.Result{StatusCode: 101, Error: "status 101"}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			url := receiver(t, tc.script)
			timeout := time.Minute // not to be reached, however slow the machine
			switch {
			case tc.want.Error == "timeout":
				timeout = 100 * time.Millisecond
			case tc.name == "body that drips": // is cut after the headers were read
				timeout = time.Second
			}
			var r deliver.Result
			var took time.Duration
			var grew uint64
			attempt := func() {
				hook := sender(webhook.Config{AllowPrivate: true, Timeout: timeout}, &netguard.Guard{}, nil)
				defer hook.Close()
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				began := time.Now()
				r = hook.Send(t.Context(), delivery(url))
				took = time.Since(began)
				runtime.ReadMemStats(&after)
				grew = after.TotalAlloc - before.TotalAlloc
			}
			for attempt(); tc.want.OK && r.Error == "timeout" && timeout < 10*time.Second; attempt() {
				timeout *= 4 // the machine took longer to read the headers
			}
			if len(r.ResponsePreview) > 4096 {
				t.Errorf("a preview of %d bytes", len(r.ResponsePreview))
			}
			r.ResponsePreview = ""
			if r != tc.want {
				t.Errorf("got %+v, want %+v", r, tc.want)
			}
			// The margins are for a loaded machine; what they guard against takes
			// for ever, and megabytes.
			if took > timeout+20*time.Second || took > timeout && timeout == time.Minute {
				t.Errorf("took %v, want at most about %v", took, timeout)
			}
			if grew > 512<<10 {
				t.Errorf("allocated %d KiB, want at most 512", grew>>10)
			}
		})
	}
}

// While 100 receivers hold their attempts, each costs at most 64 KiB of memory,
// the receiver's own, in this process, included; and all are free when the attempts
// are cut. That each is cut by its timeout is TestHostileReceivers's.
func TestHostileReceiversMemory(t *testing.T) {
	const timeout, receivers, most = time.Minute, 100, 64 << 10
	for _, row := range []struct{ name, head, drip string }{
		{"accepts and is silent", "", ""},
		{"headers that drip", "HTTP/1.1 200 OK\r\n", "X: x\r\n"},
		{"early hints that drip", "", "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"},
		{"body that drips", "HTTP/1.1 200 OK\r\n\r\n", "x"},
		{"12 KiB of a header, then nothing", "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 12<<10), ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			reached := make(chan struct{}, receivers)
			url := receiver(t, func(c net.Conn) {
				io.WriteString(c, row.head)
				reached <- struct{}{}
				if row.drip == "" {
					hang(c)
				}
				forever(c, row.drip, 200*time.Millisecond)
			})
			hook := webhook.Must(webhook.Config{AllowPrivate: true, Timeout: timeout})
			defer hook.Close()
			heap := func() uint64 {
				runtime.GC()
				runtime.GC() // also what pools hold
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				return m.HeapAlloc + m.StackInuse
			}
			ctx, cut := context.WithCancel(t.Context())
			defer cut()
			before := heap()
			var wg sync.WaitGroup
			for range receivers {
				wg.Go(func() { hook.Send(ctx, delivery(url)) })
			}
			for range receivers {
				<-reached
			}
			if now := heap(); now > before+receivers*most {
				t.Errorf("%d KiB each, want at most %d", (now-before)/receivers>>10, most>>10)
			}
			began := time.Now()
			cut()
			wg.Wait()
			if took := time.Since(began); took > timeout/2 {
				t.Errorf("all were free %s after they were cut, want at once", took)
			}
		})
	}
}

func TestStalledTLSHandshake(t *testing.T) { eachClient(t, testStalledTLSHandshake) }

func testStalledTLSHandshake(t *testing.T, own bool, sender newSender) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() // the connection waits in its backlog
	hook := sender(webhook.Config{AllowPrivate: true, Timeout: 100 * time.Millisecond}, &netguard.Guard{}, nil)
	defer hook.Close()
	r := hook.Send(t.Context(), delivery("https://"+l.Addr().String()))
	if want := (deliver.Result{Error: "timeout"}); r != want {
		t.Errorf("got %+v, want %+v", r, want)
	}
}

func TestNoReceiver(t *testing.T) { eachClient(t, testNoReceiver) }

func testNoReceiver(t *testing.T, own bool, sender newSender) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	url := "http://" + c.LocalAddr().String() // in use, so that nobody else can listen there
	hook := sender(webhook.Config{AllowPrivate: true}, &netguard.Guard{}, nil)
	defer hook.Close()
	if r, want := hook.Send(t.Context(), delivery(url)), (deliver.Result{Error: "connection refused"}); r != want {
		t.Errorf("got %+v, want %+v", r, want)
	}
	plain := httptest.NewServer(http.NotFoundHandler())
	plain.Config.ErrorLog = quiet
	defer plain.Close()
	r := hook.Send(t.Context(), delivery(strings.Replace(plain.URL, "http:", "https:", 1)))
	if want := (deliver.Result{Error: "tls: not a TLS server"}); r != want {
		t.Errorf("got %+v, want %+v", r, want)
	}
}

// TestConnectionsAreKept: an answer of up to 16 KiB is read to its end, and its
// connection serves the next attempt; a longer one costs its connection.
func TestConnectionsAreKept(t *testing.T) { eachClient(t, testConnectionsAreKept) }

func testConnectionsAreKept(t *testing.T, own bool, sender newSender) {
	for size, want := range map[int]int64{0: 1, 100: 1, 16 << 10: 1, 17 << 10: 5, 1 << 20: 5} {
		t.Run(fmt.Sprintf("%d bytes", size), func(t *testing.T) {
			var conns atomic.Int64
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Length", fmt.Sprint(size))
				io.WriteString(w, strings.Repeat("x", size))
			}))
			server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
				if s == http.StateNew {
					conns.Add(1)
				}
			}
			server.Start()
			defer server.Close()
			hook := sender(webhook.Config{AllowPrivate: true}, &netguard.Guard{}, nil)
			defer hook.Close()
			for range 5 {
				if r := hook.Send(t.Context(), delivery(server.URL)); !r.OK {
					t.Fatalf("%+v", r)
				}
			}
			if got := conns.Load(); got != want {
				t.Errorf("%d connections for 5 attempts, want %d", got, want)
			}
		})
	}
}

func BenchmarkWebhookSend(b *testing.B) {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body) }))
	defer server.Close()
	hook := webhook.Must(webhook.Config{AllowPrivate: true})
	defer hook.Close()
	d := delivery(server.URL)
	d.Event.Body = delivertest.Body(nil)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if r := hook.Send(context.Background(), d); !r.OK {
				b.Errorf("%+v", r)
				return
			}
		}
	})
}
