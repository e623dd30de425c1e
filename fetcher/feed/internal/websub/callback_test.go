package websub

import (
	"context"
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"hash"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A verification is confirmed once, while it is pending, and to who knows all of it.
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
				s.Want(one())
				pass(time.Second)
				form := h.last().form
				path, q := form.Get("hub.callback"), url.Values{"hub.mode": {"subscribe"}, "hub.topic": {topicURL}, "hub.challenge": {"<b>4711"}, "hub.lease_seconds": {"864000"}}
				c.change(&path, q)
				rec := h.get(path, q)
				if rec.Code != c.want || s.Leased(topic) != (c.want == 200) {
					t.Errorf("answered %d, leased %t: want %d", rec.Code, s.Leased(topic), c.want)
				}
				if c.want == 200 && (rec.Body.String() != "<b>4711" || rec.Header().Get("Content-Type") != "text/plain; charset=utf-8" || rec.Header().Get("X-Content-Type-Options") != "nosniff") {
					t.Errorf("the challenge comes as %q, %v", rec.Body, rec.Header())
				}
				if rec := h.get(path, q); rec.Code != 404 {
					t.Errorf("the same again is answered %d, want 404", rec.Code)
				}
			})
		})
	}
}

// What comes long after the request is not confirmed.
func TestLateVerification(t *testing.T) {
	subscribing(t, func(t *testing.T, h *testHub, s *Subscriber) {
		h.silent = true
		s.Want(one())
		pass(verifyWithin)
		form := h.last().form
		h.set(func() { h.answer = func(int, asked) *http.Response { return reply(500) } })
		pass(10 * time.Second)
		h.verify(form)
		if s.Leased(topic) || h.count(&h.verified) != 0 {
			t.Error("a verification is confirmed after its time")
		}
	})
}

// Anybody who knows the path can deny: it is a hint.
func TestDenied(t *testing.T) {
	subscribing(t, func(t *testing.T, h *testHub, s *Subscriber) {
		h.silent = true
		s.Want(one())
		pass(time.Second)
		deny := func() {
			q := url.Values{"hub.mode": {"denied"}, "hub.topic": {topicURL}, "hub.reason": {"no"}}
			if rec := h.get(h.last().form.Get("hub.callback"), q); rec.Code != 200 {
				t.Errorf("a denial is answered %d", rec.Code)
			}
		}
		deny()
		h.verify(h.last().form)
		if s.Leased(topic) {
			t.Error("a request that was denied is confirmed")
		}
		h.set(func() { h.silent = false })
		pass(2 * time.Minute)
		if !s.Leased(topic) || h.asked() != 2 {
			t.Errorf("leased %t after %d requests: want another one soon", s.Leased(topic), h.asked())
		}
		for range 100 {
			deny()
			pass(5 * time.Minute)
		}
		if n := h.asked(); !s.Leased(topic) || n < 4 || n > 11 {
			t.Errorf("leased %t after %d requests: want the lease to go on, and to be renewed once an hour at most", s.Leased(topic), n)
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
				s.Want(one())
				pass(time.Second)
				stop := taking(s, nil)
				form := h.last().form
				status := h.pushTo(form.Get("hub.callback"), body, "X-Hub-Signature", c.signature(form.Get("hub.secret")), "Content-Type", "a/b").Code
				got := stop()
				if status != c.status || len(got) == 1 != c.taken {
					t.Fatalf("answered %d, %d are taken: want %d, %t", status, len(got), c.status, c.taken)
				}
				if c.taken && (got[0].Topic != topic || string(got[0].Body) != body || !got[0].Authentic || got[0].Header.Get("Content-Type") != "a/b") {
					t.Errorf("taken is %+v", got[0])
				}
				if st := s.Stats(); c.status == 403 != (st.Unsigned == 1) || !c.taken && c.status == 200 != (st.Mismatches == 1) {
					t.Errorf("counted %+v", st)
				}
			})
		})
	}
}

// A hub without TLS is given no secret, and what it sends is a hint.
func TestHubWithoutTLS(t *testing.T) {
	subscribing(t, func(t *testing.T, h *testHub, s *Subscriber) {
		topic := Links{Hubs: []string{"http://hub.example/"}, Self: topicURL}.Topic()
		s.Want([]Topic{topic})
		pass(time.Second)
		form := h.last().form
		if form.Has("hub.secret") || !s.Leased(topic) {
			t.Errorf("asked for %v, leased %t", form, s.Leased(topic))
		}
		stop := taking(s, nil)
		status := h.pushTo(form.Get("hub.callback"), "x").Code
		if got := stop(); status != 200 || len(got) != 1 || got[0].Authentic {
			t.Errorf("answered %d, taken %+v", status, got)
		}
	})
}

// Requests that no hub makes.
func TestHostileRequests(t *testing.T) {
	subscribing(t, func(t *testing.T, h *testHub, s *Subscriber) {
		s.Want(one())
		pass(time.Second)
		defer taking(s, nil)()
		path := h.last().form.Get("hub.callback")
		key, _ := s.keys.make("another", "topic")
		for _, c := range []struct {
			name, method, path, body, encoding string
			want                               int
		}{
			{"PUT", http.MethodPut, path, "", "", 405},
			{"HEAD", http.MethodHead, path, "", "", 405},
			{"DELETE of another path", http.MethodDelete, "/x", "", "", 405},
			{"POST to no path", http.MethodPost, callback, "x", "", 404},
			{"POST to a stranger's path", http.MethodPost, callback + "/" + strings.Repeat("B", 43), "x", "", 404},
			{"POST to a path that was given before the start", http.MethodPost, callback + "/" + key, "x", "", 503},
			{"gzip", http.MethodPost, path, "x", "gzip", 415},
			{"a huge body", http.MethodPost, path, strings.Repeat("x", 1<<20+1), "", 413},
			{"a huge body to a stranger's path", http.MethodPost, callback + "/x", strings.Repeat("x", 1<<20+1), "", 404},
		} {
			r := httptest.NewRequest(c.method, c.path, strings.NewReader(c.body))
			r.Header.Set("Content-Encoding", c.encoding)
			rec := httptest.NewRecorder()
			s.ServeHTTP(rec, r)
			if rec.Code != c.want || c.want == 503 != (rec.Header().Get("Retry-After") != "") || c.want == 405 != (rec.Header().Get("Allow") != "") {
				t.Errorf("%s: answered %d with %v, want %d", c.name, rec.Code, rec.Header(), c.want)
			}
		}
		pass(knownWithin)
		if got := h.pushTo(callback+"/"+key, "x").Code; got != 410 {
			t.Errorf("a push for what another process wanted is answered %d, want 410", got)
		}
	})
}

// A push that nobody takes, or that the reader fails to deal with, is to be repeated.
func TestPushInVain(t *testing.T) {
	subscribing(t, func(t *testing.T, h *testHub, s *Subscriber) {
		s.Want(one())
		pass(time.Second)
		begun := time.Now()
		if rec := h.push("x"); rec.Code != 503 || rec.Header().Get("Retry-After") == "" || time.Since(begun) != takeWithin {
			t.Errorf("answered %d after %s", rec.Code, time.Since(begun))
		}
		stop := taking(s, errors.New("the engine stops"))
		if rec := h.push("x"); rec.Code != 503 {
			t.Errorf("answered %d, want 503", rec.Code)
		}
		stop()
		go func() { <-s.Pushes() }() // and never done with it
		if rec := h.push("x"); rec.Code != 503 {
			t.Errorf("answered %d, want 503", rec.Code)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		form := h.last().form
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, form.Get("hub.callback"), strings.NewReader("x"))
		r.Header.Set("X-Hub-Signature", sign(form.Get("hub.secret"), "x"))
		rec := httptest.NewRecorder()
		if s.ServeHTTP(rec, r); rec.Code != 503 {
			t.Errorf("answered %d to a hub that has gone", rec.Code)
		}
		if st := s.Stats(); st.Busy != 4 || st.Pushes != 0 {
			t.Errorf("counted %+v", st)
		}
	})
}

// More pushes than are read at a time are to be repeated at once.
func TestManyPushes(t *testing.T) {
	subscribing(t, func(t *testing.T, h *testHub, s *Subscriber) {
		s.Want(one())
		pass(time.Second)
		codes := make(chan int, 2*maxPushes)
		for range 2 * maxPushes {
			go func() { codes <- h.push("x").Code }()
		}
		synctest.Wait()
		if len(codes) != maxPushes || <-codes != 503 {
			t.Errorf("%d are answered at once, want half of them, with 503", len(codes))
		}
		stop := taking(s, nil)
		synctest.Wait()
		if got := len(stop()); got != maxPushes {
			t.Errorf("%d are taken, want %d", got, maxPushes)
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
	s.running, s.started = true, time.Now()
	s.Want(one())
	var token string
	for t, sub := range s.tokens {
		token = t
		sub.begin(time.Now())
	}
	f.Fuzz(func(t *testing.T, method, path, query, signature, body string) {
		path = strings.ReplaceAll(path, "TOKEN", token)
		r := &http.Request{Method: method, URL: &url.URL{Path: path, RawQuery: query}, Header: http.Header{"X-Hub-Signature": {signature}},
			Body: http.NoBody, Host: "h"}
		if body != "" {
			r.Body = httptest.NewRequest("POST", "/", strings.NewReader(body)).Body
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // nobody waits for what would be taken
		rec := httptest.NewRecorder()
		s.ServeHTTP(rec, r.WithContext(ctx))
		knows := strings.Contains(path, token)
		if !knows && (rec.Code == 200 || rec.Code == 410) {
			t.Errorf("%s %q?%q is answered %d", method, path, query, rec.Code)
		}
		if st := s.Stats(); st.Pushes > 0 {
			t.Errorf("taken without a signature: %+v", st)
		}
	})
}
