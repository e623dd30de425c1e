package latencybench

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/secret"
)

func TestSignatures(t *testing.T) {
	const body = `{"title":"swb-0123456789abcdef"}`
	now := time.Now()
	seconds := now.Format("20060102") // not Unix seconds
	standard := func(key secret.Value, at time.Time) http.Header {
		return http.Header{"Webhook-Id": {"msg_1"}, "Webhook-Timestamp": {unix(at)}, "Webhook-Signature": {deliver.SignStandard(key, "msg_1", at, []byte(body))}}
	}
	stale := standard(testSecret, now.Add(-time.Hour))
	torn := standard(testSecret, now)
	torn.Set("Webhook-Timestamp", seconds)
	for _, tc := range []struct {
		name   string
		key    secret.Value
		header http.Header
		want   string
	}{
		{"X-Signature-256", testSecret, http.Header{"X-Signature-256": {deliver.Sign(testSecret, []byte(body))}}, signatureValid},
		{"by another secret", "another secret, of 24 characters", http.Header{"X-Signature-256": {deliver.Sign(testSecret, []byte(body))}}, signatureInvalid},
		{"Standard Webhooks", testSecret, standard(testSecret, now), signatureValid},
		{"Standard Webhooks by another secret", testSecret, standard("whsec_AAAA", now), signatureInvalid},
		{"Standard Webhooks, an hour old", testSecret, stale, signatureInvalid},
		{"Standard Webhooks, changed", testSecret, torn, signatureInvalid},
		{"none", testSecret, http.Header{}, signatureAbsent},
		{"no secret", "", http.Header{"X-Signature-256": {"sha256=00"}}, signatureUnchecked},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newBook()
			req := httptest.NewRequest(http.MethodPost, "/any/path", strings.NewReader(body))
			for name, v := range tc.header {
				req.Header[name] = v
			}
			w := httptest.NewRecorder()
			(&webhookHandler{b, tc.key}).ServeHTTP(w, req)
			got := closed(b).arrivals
			if len(got) != 1 || got[0].signature != tc.want {
				t.Errorf("noted %+v, want one %s", got, tc.want)
			}
			if refused := tc.want == signatureInvalid || tc.want == signatureAbsent; (w.Code == http.StatusUnauthorized) != refused || !refused && w.Code != http.StatusNoContent {
				t.Errorf("answered %d", w.Code)
			}
		})
	}
}

// closed is what a book has noted.
func closed(b *book) *record {
	rec := &record{}
	b.close(rec)
	return rec
}

func unix(at time.Time) string { return strconv.FormatInt(at.Unix(), 10) }

func TestRequestsThatAreNoWebhooks(t *testing.T) {
	b := newBook()
	h := &webhookHandler{book: b}
	for _, tc := range []struct {
		method, body string
		want         int
	}{
		{http.MethodGet, "", http.StatusMethodNotAllowed},
		{http.MethodPost, strings.Repeat("x", maxBody+1), http.StatusRequestEntityTooLarge},
		{http.MethodPost, "nothing of ours", http.StatusNoContent},
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(tc.method, "/", strings.NewReader(tc.body)))
		if w.Code != tc.want {
			t.Errorf("%s of %d bytes answers %d, want %d", tc.method, len(tc.body), w.Code, tc.want)
		}
	}
	if rec := closed(b); len(rec.arrivals) != 0 || rec.blank[channelWebhook] != 1 {
		t.Errorf("noted %v, %v: want one request without a marker", rec.arrivals, rec.blank)
	}
}

// A client sends its key, answers pings, notes the posts of a frame
// once each, and comes back when the connection is lost.
func TestWebSocketClient(t *testing.T) {
	t.Parallel()
	b := newBook()
	heard := make(chan string, 9)
	frames := make(chan string)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ws, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer ws.CloseNow()
		heard <- r.Header.Get("x-key")
		for frame := range frames {
			if frame == "cut" {
				return
			}
			if ws.Write(r.Context(), websocket.MessageText, []byte(frame)) != nil {
				return
			}
			if strings.Contains(frame, "ping") {
				_, pong, err := ws.Read(r.Context())
				if err != nil {
					return
				}
				heard <- string(pong)
			}
		}
	}))
	defer web.Close()
	header, err := headers{"x-key: $KEY of mine"}.expand(func(name string) (string, bool) { return name + "1", true })
	if err != nil {
		t.Fatal(err)
	}
	s := &socket{book: b, url: "ws" + strings.TrimPrefix(web.URL, "http"), header: header, http: web.Client(), note: t.Logf}
	ctx, stop := context.WithCancel(t.Context())
	ws, err := s.connect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.watch(ctx, ws)
	}()
	want := func(messages ...string) {
		t.Helper()
		for _, m := range messages {
			if got := <-heard; got != m {
				t.Errorf("the server heard %q, want %q", got, m)
			}
		}
	}
	want("KEY1 of mine")
	frames <- `{"posts":["swb-0000000000000001","swb-0000000000000002","swb-0000000000000001"]}`
	frames <- `{"type":"ping"}`
	want(`{"type":"pong"}`)
	frames <- "cut"
	want("KEY1 of mine")
	frames <- `swb-0000000000000003`
	frames <- `{"type":"ping"}`
	want(`{"type":"pong"}`)
	stop()
	<-done
	close(frames)
	var got []string
	for _, a := range closed(b).arrivals {
		got = append(got, a.marker[len(a.marker)-1:]+" "+a.channel+" "+a.signature)
	}
	if text := strings.Join(got, ", "); text != "1 websocket connection, 2 websocket connection, 3 websocket connection" {
		t.Errorf("noted %s", text)
	}
}

// What is beyond the bound is counted.
func TestBookIsBounded(t *testing.T) {
	b := newBook()
	b.arrivals = make([]arrival, maxArrivals-3)
	for range 10 {
		b.arrived(0, channelWebhook, []byte("swb-0000000000000001"), signatureValid, "")
	}
	if rec := closed(b); len(rec.arrivals) != maxArrivals || rec.overflow != 7 {
		t.Errorf("%d arrivals and %d more, want %d and 7", len(rec.arrivals), rec.overflow, maxArrivals)
	}
	b.arrived(0, channelWebhook, []byte("swb-0000000000000001"), signatureValid, "")
	if closed(b).overflow != 7 {
		t.Error("something was noted after the end")
	}
}
