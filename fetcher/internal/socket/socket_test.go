package socket_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
	"go.uber.org/goleak"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/internal/socket"
	"github.com/streamwatch/streamwatch/fetcher/internal/sockettest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve runs a server for the length of a test and gives a client of it.
func serve(t *testing.T, h http.HandlerFunc) *http.Client {
	srv := sockettest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv.Client()
}

func accept(t *testing.T, w http.ResponseWriter, r *http.Request) *websocket.Conn {
	c, err := websocket.Accept(w, r, nil)
	if err != nil {
		t.Error(err)
	}
	return c
}

func TestMessagesAndPings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked string
		client := serve(t, func(w http.ResponseWriter, r *http.Request) {
			c := accept(t, w, r)
			defer c.CloseNow()
			_, b, err := c.Read(r.Context())
			if err != nil {
				t.Error(err)
			}
			asked = string(b)
			for _, m := range []string{"one", "two"} {
				if err := c.Write(r.Context(), websocket.MessageText, []byte(m)); err != nil {
					t.Error(err)
				}
			}
			ctx := c.CloseRead(r.Context())
			<-time.After(65 * time.Second) // answers three pings
			if ctx.Err() != nil {
				t.Error("the client has gone")
			}
			c.Close(websocket.StatusGoingAway, "bye")
		})
		var got []string
		alive := 0
		err := socket.Read(t.Context(), socket.Config{
			URL: "ws://host/path", HTTP: client,
			Opened:  func(send socket.Send) error { return send(t.Context(), []byte("hello")) },
			Message: func(b []byte) error { got = append(got, string(b)); return nil },
			Alive:   func() error { alive++; return nil },
		})
		if websocket.CloseStatus(err) != websocket.StatusGoingAway {
			t.Errorf("ended with %v, want the server's close", err)
		}
		if asked != "hello" || strings.Join(got, " ") != "one two" || alive != 3 {
			t.Errorf("server got %q, client %q and %d signs of life; want hello, one two and 3", asked, got, alive)
		}
	})
}

// A server that answers nothing, or whose network is gone without a word, is left
// after the second ping at the latest.
func TestSilentServer(t *testing.T) {
	for _, frozen := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			over := make(chan struct{})
			srv := sockettest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				c := accept(t, w, r)
				defer c.CloseNow()
				if frozen {
					c.CloseRead(context.Background())
				}
				<-over // reads nothing, so that no pong goes out
			}))
			defer srv.Close()
			defer close(over)
			cfg := socket.Config{URL: "ws://host/", HTTP: srv.Client(), Message: func([]byte) error { return nil }}
			if frozen {
				cfg.Opened = func(socket.Send) error { srv.Freeze(); return nil }
			}
			began := time.Now()
			err := socket.Read(t.Context(), cfg)
			if took := time.Since(began); !errors.Is(err, socket.ErrSilent) || took > 40*time.Second {
				t.Errorf("frozen %t: ended with %v after %s, want ErrSilent within 40s", frozen, err, took)
			}
		})
	}
}

// A caller that is slow with a message does not make the server look silent.
func TestSlowCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := serve(t, func(w http.ResponseWriter, r *http.Request) {
			c := accept(t, w, r)
			defer c.CloseNow()
			c.CloseRead(r.Context())
			for range 2 {
				if err := c.Write(r.Context(), websocket.MessageText, []byte("m")); err != nil {
					t.Error(err)
				}
			}
			<-time.After(5 * time.Minute)
			c.Close(websocket.StatusNormalClosure, "")
		})
		n := 0
		err := socket.Read(t.Context(), socket.Config{URL: "ws://host/", HTTP: client, Message: func([]byte) error {
			n++
			<-time.After(2 * time.Minute)
			return nil
		}})
		if n != 2 || websocket.CloseStatus(err) != websocket.StatusNormalClosure {
			t.Errorf("%d messages, ended with %v; want 2 and the server's close", n, err)
		}
	})
}

func TestRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		status := 0
		client := serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Retry-After", "7")
			http.Error(w, "no for s3cret", status)
		})
		read := func() error {
			return socket.Read(t.Context(), socket.Config{URL: "ws://host/?access_token=s3cret", Token: "s3cret", HTTP: client, Message: func([]byte) error { return nil }})
		}
		status = http.StatusUnauthorized
		if err := read(); !errors.Is(err, fetcher.ErrUnauthorized) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("401: %v", err)
		}
		status = http.StatusTooManyRequests
		var limited *fetcher.RateLimitError
		if err := read(); !errors.As(err, &limited) || limited.RetryAfter != 7*time.Second {
			t.Errorf("429: %v", err)
		}
		status = http.StatusServiceUnavailable
		var other *fetcher.StatusError
		if err := read(); !errors.As(err, &other) || other.Code != 503 || other.RetryAfter != 7*time.Second {
			t.Errorf("503: %v", err)
		}
	})
	err := socket.Read(t.Context(), socket.Config{URL: "ws://host.invalid/?access_token=s3cret", Token: "s3cret", Message: func([]byte) error { return nil },
		HTTP: &http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("no network") }}}})
	if err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("no connection: %v", err)
	}
}

// A token is not taken to another host, whatever the client's own rule.
func TestRedirectWithAToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for location, want := range map[string]string{"/there": "host/there", "http://host:81/": "host/", "http://sub.host/": "host/", "ws://elsewhere/": "host/"} {
			var last string
			client := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if last = r.Host + r.URL.Path; last == "host/" {
					http.Redirect(w, r, location, http.StatusFound)
				}
			})
			err := socket.Read(t.Context(), socket.Config{URL: "ws://host/", HTTP: client, Token: "s3cret",
				Header: http.Header{"X-Api-Key": {"s3cret"}}, Message: func([]byte) error { return nil }})
			if err == nil || last != want {
				t.Errorf("redirected to %s: the last request was for %s, want %s (%v)", location, last, want, err)
			}
		}
	})
}

// What a function of the caller returns ends Read, and so does the context.
func TestEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := serve(t, func(w http.ResponseWriter, r *http.Request) {
			c := accept(t, w, r)
			defer c.CloseNow()
			ctx := c.CloseRead(context.Background())
			if err := c.Write(ctx, websocket.MessageText, []byte("m")); err != nil {
				return
			}
			<-ctx.Done()
		})
		mine := errors.New("enough")
		cfg := socket.Config{URL: "ws://host/", HTTP: client, Message: func([]byte) error { return mine }}
		if err := socket.Read(t.Context(), cfg); err != mine {
			t.Errorf("Message: %v", err)
		}
		cfg.Message, cfg.Alive = func([]byte) error { return nil }, func() error { return mine }
		if err := socket.Read(t.Context(), cfg); err != mine {
			t.Errorf("Alive: %v", err)
		}
		cfg.Alive, cfg.Opened = nil, func(socket.Send) error { return mine }
		if err := socket.Read(t.Context(), cfg); err != mine {
			t.Errorf("Opened: %v", err)
		}
		cfg.Opened = nil
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := socket.Read(ctx, cfg); err != context.DeadlineExceeded {
			t.Errorf("context: %v", err)
		}
	})
}
