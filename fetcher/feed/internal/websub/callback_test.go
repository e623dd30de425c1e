package websub

import (
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"hash"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
)

// A verification is confirmed while it is pending, to who knows all of it.
func TestVerification(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(path *string, q url.Values)
		want   int
	}{
		{"pending", func(*string, url.Values) {}, 200},
		{"another topic", func(_ *string, q url.Values) { q.Set("hub.topic", topicURL+"?") }, 404},
		{"no topic", func(_ *string, q url.Values) { q.Del("hub.topic") }, 404},
		{"another mode", func(_ *string, q url.Values) { q.Set("hub.mode", "unsubscribe") }, 404},
		{"no mode", func(_ *string, q url.Values) { q.Del("hub.mode") }, 404},
		{"no challenge", func(_ *string, q url.Values) { q.Del("hub.challenge") }, 404},
		{"a challenge without end", func(_ *string, q url.Values) { q.Set("hub.challenge", strings.Repeat("x", maxChallenge+1)) }, 404},
		{"another path", func(p *string, _ url.Values) { *p = callback + "/" + strings.Repeat("A", 43) }, 404},
		{"no path", func(p *string, _ url.Values) { *p = callback }, 404},
		{"the root", func(p *string, _ url.Values) { *p = "https://watch.example/" }, 404},
		{"below another mount", func(p *string, _ url.Values) { *p = "https://other.example/a/b" + strings.TrimPrefix(*p, callback) }, 200},
		{"with something behind", func(p *string, _ url.Values) { *p += "/" }, 404},
	} {
		t.Run(c.name, func(t *testing.T) {
			subscribing(t, func(t *testing.T, h *testHub, s *Subscriber) {
				h.silent = true
				s.Want("a", topic)
				pass(time.Second)
				form := h.last().form
				path, q := form.Get("hub.callback"), url.Values{"hub.mode": {"subscribe"}, "hub.topic": {topicURL}, "hub.challenge": {"<b>4711"}, "hub.lease_seconds": {"864000"}}
				c.change(&path, q)
				rec := h.get(path, q)
				if rec.Code != c.want || (h.leased() == 1) != (c.want == 200) {
					t.Errorf("answered %d, %d leased: want %d", rec.Code, h.leased(), c.want)
				}
				if c.want == 200 && (rec.Body.String() != "<b>4711" || rec.Header().Get("Content-Type") != "text/plain; charset=utf-8" || rec.Header().Get("X-Content-Type-Options") != "nosniff") {
					t.Errorf("the challenge comes as %q, %v", rec.Body, rec.Header())
				}
				if rec := h.get(path, q); rec.Code != c.want {
					t.Errorf("the same again, by a hub that got no answer, is answered %d, want %d", rec.Code, c.want)
				}
			})
		})
	}
}

// Anybody who knows the path can deny: the subscription goes on.
func TestDenied(t *testing.T) {
	subscribing(t, func(t *testing.T, h *testHub, s *Subscriber) {
		s.Want("a", topic)
		pass(time.Second)
		q := url.Values{"hub.mode": {"denied"}, "hub.topic": {topicURL}, "hub.reason": {"no"}}
		if rec := h.get(h.last().form.Get("hub.callback"), q); rec.Code != 200 || h.leased() != 1 || s.Stats().Denied != 1 {
			t.Errorf("a denial is answered %d, counted %+v", rec.Code, s.Stats())
		}
	})
}

func TestSignatures(t *testing.T) {
	const body = "a ping"
	of := func(newHash func() hash.Hash, secret, body string) string {
		m := hmac.New(newHash, []byte(secret))
		m.Write([]byte(body))
		return hex.EncodeToString(m.Sum(nil))
	}
	for _, c := range []struct {
		name      string
		signature func(secret string) string
		status    int
		taken     bool
	}{
		{"sha1", func(s string) string { return "sha1=" + of(sha1.New, s, body) }, 200, true},
		{"sha256", func(s string) string { return "sha256=" + of(sha256.New, s, body) }, 200, true},
		{"sha384", func(s string) string { return "sha384=" + of(sha512.New384, s, body) }, 200, true},
		{"sha512", func(s string) string { return "sha512=" + of(sha512.New, s, body) }, 200, true},
		{"upper case", func(s string) string { return "SHA256=" + strings.ToUpper(of(sha256.New, s, body)) }, 200, true},
		{"another secret", func(s string) string { return "sha256=" + of(sha256.New, s+"x", body) }, 200, false},
		{"another body", func(s string) string { return "sha256=" + of(sha256.New, s, body+"x") }, 200, false},
		{"another method", func(s string) string { return "sha1=" + of(sha256.New, s, body) }, 200, false},
		{"an unknown method", func(s string) string { return "md5=" + of(sha1.New, s, body) }, 200, false},
		{"cut", func(s string) string { return "sha256=" + of(sha256.New, s, body)[:32] }, 200, false},
		{"empty", func(string) string { return "sha256=" }, 200, false},
		{"no hex", func(string) string { return "sha256=" + strings.Repeat("x", 64) }, 200, false},
		{"no method", func(s string) string { return of(sha256.New, s, body) }, 200, false},
		{"missing", func(string) string { return "" }, 403, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			subscribing(t, func(t *testing.T, h *testHub, s *Subscriber) {
				s.Want("a", topic)
				pass(time.Second)
				form := h.last().form
				status := h.pushTo(form.Get("hub.callback"), body, "X-Hub-Signature", c.signature(form.Get("hub.secret"))).Code
				if status != c.status || slices.Equal(h.pushed, []string{"a"}) != c.taken {
					t.Fatalf("answered %d, %q are pushed: want %d, %t", status, h.pushed, c.status, c.taken)
				}
				if st := s.Stats(); c.status == 403 != (st.Unsigned == 1) || !c.taken && c.status == 200 != (st.Mismatches == 1) {
					t.Errorf("counted %+v", st)
				}
			})
		})
	}
}

// A hub without TLS is given no secret, and need not sign.
func TestHubWithoutTLS(t *testing.T) {
	subscribing(t, func(t *testing.T, h *testHub, s *Subscriber) {
		s.Want("a", NewTopic(topicURL, "http://hub.example/"))
		pass(time.Second)
		form := h.last().form
		if form.Has("hub.secret") || h.leased() != 1 {
			t.Errorf("asked for %v, %d leased", form, h.leased())
		}
		if status := h.pushTo(form.Get("hub.callback"), "x").Code; status != 200 || len(h.pushed) != 1 {
			t.Errorf("answered %d, pushed %q", status, h.pushed)
		}
	})
}

// Requests that no hub makes.
func TestHostileRequests(t *testing.T) {
	subscribing(t, func(t *testing.T, h *testHub, s *Subscriber) {
		s.Want("a", topic)
		pass(time.Second)
		path := h.last().form.Get("hub.callback")
		for _, c := range []struct {
			name, method, path, body, signature string
			want                                int
		}{
			{"PUT", http.MethodPut, path, "", "", 405},
			{"HEAD", http.MethodHead, path, "", "", 405},
			{"DELETE of another path", http.MethodDelete, "/x", "", "", 405},
			{"POST to no path", http.MethodPost, callback, "x", "", 410},
			{"POST to a stranger's path", http.MethodPost, callback + "/" + strings.Repeat("B", 43), "x", "", 410},
			{"a huge body", http.MethodPost, path, strings.Repeat("x", 1<<20+1), "sha1=00", 413},
			{"a huge body to a stranger's path", http.MethodPost, callback + "/x", strings.Repeat("x", 1<<20+1), "sha1=00", 410},
		} {
			r := httptest.NewRequest(c.method, c.path, strings.NewReader(c.body))
			r.Header.Set("X-Hub-Signature", c.signature)
			rec := httptest.NewRecorder()
			s.ServeHTTP(rec, r)
			if rec.Code != c.want || c.want == 405 != (rec.Header().Get("Allow") != "") {
				t.Errorf("%s: answered %d with %v, want %d", c.name, rec.Code, rec.Header(), c.want)
			}
		}
	})
}

// FuzzCallback sends anything to a Subscriber: it never panics, never confirms what is not
// pending, and never takes what is not signed.
func FuzzCallback(f *testing.F) {
	f.Add("GET", "/x", "hub.mode=subscribe&hub.topic=t&hub.challenge=c", "", "")
	f.Add("GET", "/"+strings.Repeat("A", 43), "hub.mode=denied&hub.topic=https://feeds.example/a.xml", "", "")
	f.Add("POST", "/x", "", "sha1=00", "body")
	f.Add("POST", "//", "a=%zz;", "=", "")
	h := &testHub{silent: true}
	s := newSubscriber(h)
	h.sub = s
	s.running = true
	s.Want("a", topic)
	sub := s.feeds["a"]
	sub.asked = time.Now()
	f.Fuzz(func(t *testing.T, method, path, query, signature, body string) {
		path = strings.ReplaceAll(path, "TOKEN", sub.token)
		r := &http.Request{Method: method, URL: &url.URL{Path: path, RawQuery: query}, Header: http.Header{"X-Hub-Signature": {signature}},
			Body: http.NoBody, Host: "h"}
		if body != "" {
			r.Body = httptest.NewRequest("POST", "/", strings.NewReader(body)).Body
		}
		rec := httptest.NewRecorder()
		s.ServeHTTP(rec, r)
		if !strings.Contains(path, sub.token) && rec.Code == 200 {
			t.Errorf("%s %q?%q is answered %d", method, path, query, rec.Code)
		}
		if st := s.Stats(); st.Pushes > 0 {
			t.Errorf("taken without a signature: %+v", st)
		}
	})
}
