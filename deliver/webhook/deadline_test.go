package webhook_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/webhook"
	"github.com/streamwatch/streamwatch/internal/netguard"
)

func TestWebhookDeadline(t *testing.T) {
	// after answers with 200 when the time has passed, unless the request ends.
	after := func(d time.Duration) roundTrip {
		return func(r *http.Request) (*http.Response, error) {
			select {
			case <-time.After(d):
				return answer(200, "")(r)
			case <-r.Context().Done():
				return nil, r.Context().Err()
			}
		}
	}
	tests := []struct {
		name     string
		answered time.Duration // 0 for never
		timeout  time.Duration // of the config
		caller   time.Duration // of the caller's context, 0 for none
		err      string
		took     time.Duration
	}{
		{"just in time", 9999 * time.Millisecond, 0, 0, "", 9999 * time.Millisecond},
		{"just too late", 10001 * time.Millisecond, 0, 0, "timeout", 10 * time.Second},
		{"its own time", 3 * time.Second, 2 * time.Second, 0, "timeout", 2 * time.Second},
		{"the caller's time is shorter", 3 * time.Second, 0, time.Second, "timeout", time.Second},
		{"the caller's time is longer", time.Hour, 0, 15 * time.Second, "timeout", 10 * time.Second},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				if tc.caller > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, tc.caller)
					defer cancel()
				}
				hook := webhook.Must(webhook.Config{Timeout: tc.timeout, Transport: after(tc.answered)})
				began := time.Now()
				r := hook.Send(ctx, delivery("https://example.com/"))
				if r.OK != (tc.err == "") || r.Error != tc.err || time.Since(began) != tc.took {
					t.Errorf("got %+v after %v, want error %q after %v", r, time.Since(began), tc.err, tc.took)
				}
			})
		})
	}
}

// TestWebhookDeadlineOverHTTP has net/http on both sides of a pipe, in virtual
// time: each part of an exchange stalls for ever, and the attempt ends at 10 s.
func TestWebhookDeadlineOverHTTP(t *testing.T) { eachClient(t, testWebhookDeadlineOverHTTP) }

func testWebhookDeadlineOverHTTP(t *testing.T, own bool, sender newSender) {
	tests := []struct {
		name string
		play func(net.Conn) // what the receiver writes after the request's headers
		want deliver.Result
		took time.Duration
	}{
		{"no connection", nil, deliver.Result{Error: "timeout"}, 10 * time.Second},
		{"no answer", func(net.Conn) {}, deliver.Result{Error: "timeout"}, 10 * time.Second},
		{"a header line a second", func(c net.Conn) {
			_, err := io.WriteString(c, "HTTP/1.1 200 OK\r\n")
			for i := 0; err == nil; i++ {
				<-time.After(time.Second)
				_, err = fmt.Fprintf(c, "X-%d: x\r\n", i)
			}
		}, deliver.Result{Error: "timeout"}, 10 * time.Second},
		{"a byte of the body now and then: the status decides", func(c net.Conn) {
			_, err := io.WriteString(c, "HTTP/1.1 202 Accepted\r\n\r\n")
			for err == nil {
				<-time.After(1500 * time.Millisecond)
				_, err = io.WriteString(c, "x")
			}
		}, deliver.Result{OK: true, StatusCode: 202, ResponsePreview: "xxxxxx"}, 10 * time.Second},
		{"a failure with a slow body", func(c net.Conn) {
			io.WriteString(c, "HTTP/1.1 500 No\r\nContent-Length: 9\r\n\r\nx")
		}, deliver.Result{StatusCode: 500, Error: "status 500", ResponsePreview: "x"}, 10 * time.Second},
		{"an answer at 9.999 s", func(c net.Conn) {
			<-time.After(9999 * time.Millisecond)
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
		}, deliver.Result{OK: true, StatusCode: 200, ResponsePreview: "ok"}, 9999 * time.Millisecond},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var receiver sync.WaitGroup
				g := &netguard.Guard{}
				netguard.SetNet(g, nil, func(ctx context.Context, _, _ string) (net.Conn, error) {
					if tc.play == nil {
						<-ctx.Done()
						return nil, ctx.Err()
					}
					near, far := net.Pipe()
					receiver.Go(func() {
						r := bufio.NewReader(far)
						for line, err := "", error(nil); line != "\r\n" && err == nil; {
							line, err = r.ReadString('\n')
						}
						receiver.Go(func() { io.Copy(io.Discard, r) })
						tc.play(far)
					})
					return near, nil
				})
				hook := sender(webhook.Config{AllowPrivate: true}, g, nil)
				began := time.Now()
				r := hook.Send(t.Context(), delivery("http://127.0.0.1/"))
				if took := time.Since(began); r != tc.want || took != tc.took {
					t.Errorf("got %+v after %v, want %+v after %v", r, took, tc.want, tc.took)
				}
				hook.Close()
				receiver.Wait()
			})
		})
	}
}

// Each idle connection is closed 60 s after its last use.
func TestIdleConnectionsEndOneByOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, ended := time.Now(), make(chan string, 10)
		g := &netguard.Guard{}
		netguard.SetNet(g, nil, func(_ context.Context, _, address string) (net.Conn, error) {
			near, far := net.Pipe()
			go func() {
				r := bufio.NewReader(far)
				for {
					if _, err := http.ReadRequest(r); err != nil {
						ended <- fmt.Sprint(address, " ", time.Since(began))
						return
					}
					r.Discard(len(body))
					io.WriteString(far, okAnswer)
				}
			}()
			return near, nil
		})
		hook := webhook.NewOn(webhook.Config{AllowPrivate: true}, g, nil)
		for _, host := range []string{"10.0.0.1", "10.0.0.2", "10.0.0.1", "10.0.0.3", "10.0.0.3"} { // at 0, 20, 40, 60 and 80 s
			if r := hook.Send(t.Context(), delivery("http://"+host+"/")); !r.OK {
				t.Fatalf("%+v", r)
			}
			<-time.After(20 * time.Second)
		}
		for _, want := range []string{"10.0.0.2:80 1m20s", "10.0.0.1:80 1m40s", "10.0.0.3:80 2m20s"} {
			if got := <-ended; got != want {
				t.Errorf("ended: %s, want %s", got, want)
			}
		}
	})
}

// TestWebhookLeavesNoConnection: in virtual time, a connection that has become
// of no use is closed, also without Close.
func TestWebhookLeavesNoConnection(t *testing.T) {
	tests := []struct {
		name, url string
		answer    string
		closed    time.Duration // from the beginning
	}{
		{"no connection", "http://127.0.0.2/", "", 10 * time.Second},
		{"no TLS handshake", "https://127.0.0.1/", "", 10 * time.Second},
		{"no answer", "http://127.0.0.1/", "", 10 * time.Second},
		{"a body without an end", "http://127.0.0.1/", "HTTP/1.1 200 OK\r\n\r\n" + strings.Repeat("x", 16<<10), 0},
		{"idle", "http://127.0.0.1/", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 60 * time.Second},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				closed := make(chan time.Duration, 1)
				g := &netguard.Guard{}
				netguard.SetNet(g, nil, func(ctx context.Context, _, address string) (net.Conn, error) {
					if address == "127.0.0.2:80" {
						<-ctx.Done()
						closed <- time.Since(began)
						return nil, ctx.Err()
					}
					near, far := net.Pipe()
					go func() {
						r := bufio.NewReader(far)
						if tc.answer != "" {
							if _, err := http.ReadRequest(r); err != nil {
								t.Error(err)
							}
							io.WriteString(far, tc.answer)
						}
						io.Copy(io.Discard, r)
						closed <- time.Since(began)
					}()
					return near, nil
				})
				hook := webhook.NewOn(webhook.Config{AllowPrivate: true}, g, nil)
				hook.Send(t.Context(), delivery(tc.url))
				if got := <-closed; got != tc.closed {
					t.Errorf("closed after %v, want %v", got, tc.closed)
				}
			})
		})
	}
}
