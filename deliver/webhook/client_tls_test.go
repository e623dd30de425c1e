package webhook_test

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/webhook"
	"github.com/streamwatch/streamwatch/internal/netguard"
)

// TLS connections are used again, too.
func TestTLSConnectionIsUsedAgain(t *testing.T) {
	var conns atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
	}))
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			conns.Add(1)
		}
	}
	server.StartTLS()
	defer server.Close()
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	hook := webhook.NewOn(webhook.Config{AllowPrivate: true}, &netguard.Guard{}, roots)
	defer hook.Close()
	for i := range 5 {
		if r := hook.Send(t.Context(), delivery(server.URL)); !r.OK {
			t.Fatalf("attempt %d: %+v", i+1, r)
		}
	}
	if n := conns.Load(); n != 1 {
		t.Errorf("%d connections for 5 attempts, want 1", n)
	}
}

// Two answers to one request, in one segment under TLS: the second is not taken for
// the next delivery's.
func TestASecondAnswerIsNobodys(t *testing.T) {
	certified := httptest.NewTLSServer(nil)
	certificates, roots := certified.TLS.Certificates, x509.NewCertPool()
	roots.AddCert(certified.Certificate())
	certified.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			raw, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				held := &corked{Conn: raw}
				c := tls.Server(held, &tls.Config{Certificates: certificates})
				defer c.Close()
				for r := bufio.NewReader(c); ; {
					req, err := http.ReadRequest(r)
					if err != nil {
						return
					}
					io.Copy(io.Discard, req.Body)
					if req.Header.Get(deliver.HeaderDeliveryID) == "first" {
						held.on = true
						io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
						io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nSTALE")
						held.flush()
						continue
					}
					io.WriteString(c, "HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n")
				}
			})
		}
	})
	hook := webhook.NewOn(webhook.Config{AllowPrivate: true}, &netguard.Guard{}, roots)
	d := delivery("https://" + l.Addr().String() + "/hook")
	d.ID = "first"
	if r := hook.Send(t.Context(), d); !r.OK {
		t.Fatalf("first: %+v", r)
	}
	d.ID = "second"
	if r := hook.Send(t.Context(), d); r.OK || r.StatusCode != 500 {
		t.Errorf("second: %+v, want the answer to it, 500", r)
	}
	if r := hook.Send(t.Context(), d); r.StatusCode != 500 {
		t.Errorf("third: %+v, want 500", r)
	}
	hook.Close()
	l.Close()
	serving.Wait()
}
