package latencybench

import (
	"context"
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"hash"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/streamwatch/streamwatch/cmd/streamwatch/internal/latencybench/receipt"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/secret"
)

func digest(h func() hash.Hash, key, body string) []byte {
	m := hmac.New(h, []byte(key))
	m.Write([]byte(body))
	return m.Sum(nil)
}

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
		name, scheme string
		key          secret.Value
		header       http.Header
		want         string
	}{
		{"X-Signature-256", "auto", testSecret, http.Header{"X-Signature-256": {deliver.Sign(testSecret, []byte(body))}}, receipt.Valid},
		{"by another secret", "auto", "another secret, of 24 characters", http.Header{"X-Signature-256": {deliver.Sign(testSecret, []byte(body))}}, receipt.Invalid},
		{"Standard Webhooks", "auto", testSecret, standard(testSecret, now), receipt.Valid},
		{"Standard Webhooks by another secret", "auto", testSecret, standard("whsec_AAAA", now), receipt.Invalid},
		{"Standard Webhooks, an hour old", "auto", testSecret, stale, receipt.Invalid},
		{"Standard Webhooks, changed", "auto", testSecret, torn, receipt.Invalid},
		{"none", "auto", testSecret, http.Header{}, receipt.Absent},
		{"no secret", "auto", "", http.Header{"X-Signature-256": {"sha256=00"}}, receipt.Unchecked},
		{"another header", "hmac-sha1:X-Hub-Signature:hex:sha1=", "key", http.Header{"X-Hub-Signature": {"sha1=" + hex.EncodeToString(digest(sha1.New, "key", body))}}, receipt.Valid},
		{"another header, without the prefix", "hmac-sha1:X-Hub-Signature:hex:sha1=", "key", http.Header{"X-Hub-Signature": {hex.EncodeToString(digest(sha1.New, "key", body))}}, receipt.Invalid},
		{"another header in base64", "hmac-sha512:X-Sig:base64", "key", http.Header{"X-Sig": {base64.StdEncoding.EncodeToString(digest(sha512.New, "key", body))}}, receipt.Valid},
		{"another header, wrong", "hmac-sha512:X-Sig:base64", "key", http.Header{"X-Sig": {base64.StdEncoding.EncodeToString(digest(sha512.New, "key", body+" "))}}, receipt.Invalid},
		{"another header, not base64", "hmac-sha512:X-Sig:base64", "key", http.Header{"X-Sig": {"*"}}, receipt.Invalid},
		{"another header is missing", "hmac-sha512:X-Sig:base64", "key", http.Header{"X-Signature-256": {deliver.Sign("key", []byte(body))}}, receipt.Absent},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, err := parseScheme(tc.scheme)
			if err != nil {
				t.Fatal(err)
			}
			b := newBook()
			req := httptest.NewRequest(http.MethodPost, "/any/path", strings.NewReader(body))
			for name, v := range tc.header {
				req.Header[name] = v
			}
			w := httptest.NewRecorder()
			(&webhook{book: b, scheme: s, key: func() secret.Value { return tc.key }}).ServeHTTP(w, req)
			got, _ := b.close()
			if len(got) != 1 || got[0].Signature != tc.want {
				t.Errorf("noted %+v, want one %s", got, tc.want)
			}
			if refused := tc.want == receipt.Invalid || tc.want == receipt.Absent; (w.Code == http.StatusUnauthorized) != refused || !refused && w.Code != http.StatusNoContent {
				t.Errorf("answered %d", w.Code)
			}
		})
	}
}

func unix(at time.Time) string { return strconv.FormatInt(at.Unix(), 10) }

func TestSchemesThatAreRefused(t *testing.T) {
	for _, s := range []string{"", "hmac-md5:X:hex", "hmac-sha256", "hmac-sha256:X", "hmac-sha256::hex", "hmac-sha256:X:octal"} {
		if _, err := parseScheme(s); err == nil || !strings.Contains(err.Error(), "-signature") {
			t.Errorf("%q: error %v, want one that names the flag", s, err)
		}
	}
}

func TestRequestsThatAreNoWebhooks(t *testing.T) {
	b := newBook()
	h := &webhook{book: b, key: func() secret.Value { return "" }}
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
	if arrivals, finish := b.close(); len(arrivals) != 0 || finish.Blank[channelWebhook] != 1 {
		t.Errorf("noted %v, %v: want one request without a marker", arrivals, finish.Blank)
	}
}

// A client sends its key and first message, answers pings, notes the posts of a frame
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
		_, hello, err := ws.Read(r.Context())
		if err != nil {
			return
		}
		heard <- string(hello)
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
	s := &socket{book: b, url: "ws" + strings.TrimPrefix(web.URL, "http"), header: header, hello: "subscribe", http: web.Client(), note: t.Logf}
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
	want("KEY1 of mine", "subscribe")
	frames <- `{"posts":["swb-0000000000000001","swb-0000000000000002","swb-0000000000000001"]}`
	frames <- `{"type":"ping"}`
	want(`{"type":"pong"}`)
	frames <- "cut"
	want("KEY1 of mine", "subscribe")
	frames <- `swb-0000000000000003`
	frames <- `{"type":"ping"}`
	want(`{"type":"pong"}`)
	stop()
	<-done
	close(frames)
	arrivals, _ := b.close()
	var got []string
	for _, a := range arrivals {
		got = append(got, a.Marker[len(a.Marker)-1:]+" "+a.Channel+" "+a.Signature)
	}
	if text := strings.Join(got, ", "); text != "1 websocket connection, 2 websocket connection, 3 websocket connection" {
		t.Errorf("noted %s", text)
	}
}

// What is beyond the bound is counted.
func TestBookIsBounded(t *testing.T) {
	b := newBook()
	b.arrivals = make([]receipt.Arrival, receipt.MaxArrivals-3)
	for range 10 {
		b.arrived(0, channelWebhook, []byte("swb-0000000000000001"), receipt.Valid, "")
	}
	if arrivals, finish := b.close(); len(arrivals) != receipt.MaxArrivals || finish.Overflow != 7 {
		t.Errorf("%d arrivals and %d more, want %d and 7", len(arrivals), finish.Overflow, receipt.MaxArrivals)
	}
	b.arrived(0, channelWebhook, []byte("swb-0000000000000001"), receipt.Valid, "")
	if _, finish := b.close(); finish.Overflow != 7 {
		t.Error("something was noted after the end")
	}
}
