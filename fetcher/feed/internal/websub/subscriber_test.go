package websub

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

const day = 24 * time.Hour

// What a hub is asked for.
func TestRequest(t *testing.T) {
	subscribing(t, func(t *testing.T, h *testHub, s *Subscriber) {
		s.Want(one())
		pass(time.Second)
		r := h.last()
		path, ok := strings.CutPrefix(r.form.Get("hub.callback"), callback+"/")
		if h.asked() != 1 || r.url != hubURL || !ok || len(path) < 40 || strings.ContainsAny(path, "/?=") {
			t.Errorf("%d requests, the last to %s with the callback %q", h.asked(), r.url, r.form.Get("hub.callback"))
		}
		for k, want := range map[string]string{"hub.mode": "subscribe", "hub.topic": topicURL, "hub.lease_seconds": "864000"} {
			if got := r.form.Get(k); got != want {
				t.Errorf("%s is %q, want %q", k, got, want)
			}
		}
		if n := len(r.form.Get("hub.secret")); n < 32 || n >= 200 {
			t.Errorf("a secret of %d bytes", n)
		}
		if r.head.Get("User-Agent") != "test/1" || r.head.Get("Content-Type") != "application/x-www-form-urlencoded" {
			t.Errorf("header %v", r.head)
		}
		if !s.Leased(topic) || s.Leased(Topic{URL: topicURL}) || h.count(&h.changed) != 1 {
			t.Errorf("after the verification: leased %t, told %d times", s.Leased(topic), h.count(&h.changed))
		}
	})
}

// The next process has the same paths and secrets, another key gives others.
func TestPathsAndSecretsAreDerived(t *testing.T) {
	seen := map[string]string{}
	for _, k := range []keys{{[]byte("key")}, {[]byte("key")}, {[]byte("other")}} {
		for _, sub := range [][2]string{{"h", "t"}, {"h", "u"}, {"i", "t"}, {"ht", ""}, {"", "ht"}} {
			token, secret := k.make(sub[0], sub[1])
			name := fmt.Sprint(string(k.key), sub)
			if had, ok := seen[name]; ok && had != token+" "+secret {
				t.Errorf("%s: %s %s, then %s", name, token, secret, had)
			}
			seen[name] = token + " " + secret
			if !k.made(token) || (keys{[]byte("third")}).made(token) || k.made(token[1:]+"A") || k.made(token+"A") || k.made("") {
				t.Errorf("%s: a path is not told from others", name)
			}
		}
	}
	all := map[string]bool{}
	for _, v := range seen {
		all[v] = true
	}
	if len(all) != 10 {
		t.Errorf("%d different ones, want 10", len(all))
	}
}

// Hubs verify before or after they answer, and give leases of their own.
func TestLeases(t *testing.T) {
	for _, c := range []struct {
		name, lease string
		status      int
		first, last time.Duration // when it is renewed
	}{
		{"as asked", "", 202, 144 * time.Hour, 160 * time.Hour},
		{"Superfeedr: 204", "", 204, 144 * time.Hour, 160 * time.Hour},
		{"Webubbub: a day", "86400", 202, 14 * time.Hour, 16 * time.Hour},
		{"0.3: none said", "-", 204, 144 * time.Hour, 160 * time.Hour},
		{"nonsense", "soon", 202, 144 * time.Hour, 160 * time.Hour},
		{"negative", "-5", 202, 144 * time.Hour, 160 * time.Hour},
		{"a moment", "1", 202, time.Minute, time.Minute},
		{"without end", "99999999999999", 202, 5 * 365 * day, 10 * 365 * day},
	} {
		t.Run(c.name, func(t *testing.T) {
			subscribing(t, func(t *testing.T, h *testHub, s *Subscriber) {
				h.lease, h.answer = c.lease, func(int, asked) *http.Response { return reply(c.status) }
				s.Want(one())
				pass(c.first - time.Second)
				if h.asked() != 1 {
					t.Errorf("%d requests before a renewal is due", h.asked())
				}
				pass(c.last - c.first + 2*time.Second)
				if h.asked() != 2 || h.count(&h.verified) != 2 {
					t.Errorf("%d requests, %d verified, after a renewal was due", h.asked(), h.count(&h.verified))
				}
				if c.last > time.Hour && !s.Leased(topic) {
					t.Error("no lease")
				}
			})
		})
	}
}

// A hub that is busy is asked again when it says; the lease goes on until then, and the
// next ones are renewed after half of their time.
func TestBusyHub(t *testing.T) {
	subscribing(t, func(t *testing.T, h *testHub, s *Subscriber) {
		h.answer = func(n int, _ asked) *http.Response {
			if n == 2 || n == 3 {
				return reply(503, "Retry-After", "120")
			}
			return reply(202)
		}
		s.Want(one())
		pass(7 * day)
		if h.asked() != 4 || !s.Leased(topic) || h.count(&h.verified) != 2 {
			t.Fatalf("%d requests, %d verified, leased %t", h.asked(), h.count(&h.verified), s.Leased(topic))
		}
		at := func(i int) time.Time { return h.all()[i].at }
		for i := 2; i < 4; i++ {
			if d := at(i).Sub(at(i - 1)); d < 2*time.Minute || d > 5*time.Minute {
				t.Errorf("asked again after %s, want 2 minutes or a little more", d)
			}
		}
		pass(5 * day)
		if d := h.last().at.Sub(at(3)); h.asked() != 5 || d < 108*time.Hour || d > 120*time.Hour {
			t.Errorf("%d requests, renewed after %s: want half of 10 days", h.asked(), d)
		}
	})
}

// A hub that is closed is asked for nothing.
func TestClosedHubIsLeftAlone(t *testing.T) {
	subscribing(t, func(t *testing.T, h *testHub, s *Subscriber) {
		h.answer = func(int, asked) *http.Response { return reply(503, "Retry-After", "3600") }
		var topics []Topic
		for i := range 200 {
			topics = append(topics, Links{Hubs: []string{hubURL}, Self: fmt.Sprint("https://feeds.example/", i)}.Topic())
		}
		s.Want(topics)
		pass(59 * time.Minute)
		if h.asked() > maxHubAtOnce {
			t.Errorf("%d requests to a hub that said 503 at once", h.asked())
		}
		h.set(func() { h.answer = nil })
		pass(4 * time.Hour)
		if st := s.Stats(); st.Leased != 200 {
			t.Errorf("%d of 200 are subscribed to after the hub has opened", st.Leased)
		}
	})
}

// Renewals that come to nothing leave the lease, which ends in its time.
func TestRenewalsInVain(t *testing.T) {
	for name, hub := range map[string]func(h *testHub){
		"refused":      func(h *testHub) { h.answer = func(int, asked) *http.Response { return reply(500) } },
		"422":          func(h *testHub) { h.answer = func(int, asked) *http.Response { return reply(422) } },
		"no answer":    func(h *testHub) { h.answer = func(int, asked) *http.Response { return nil } },
		"not verified": func(h *testHub) { h.silent = true },
	} {
		t.Run(name, func(t *testing.T) {
			subscribing(t, func(t *testing.T, h *testHub, s *Subscriber) {
				s.Want(one())
				pass(time.Minute)
				h.set(func() { hub(h) })
				pass(10*day - 2*time.Minute)
				if !s.Leased(topic) || h.asked() < 20 {
					t.Errorf("before the lease's end: leased %t, %d requests", s.Leased(topic), h.asked())
				}
				told := h.count(&h.changed)
				pass(2 * time.Minute)
				if s.Leased(topic) || h.count(&h.changed) != told+1 {
					t.Errorf("after the lease's end: leased %t, told %d times", s.Leased(topic), h.count(&h.changed)-told)
				}
				n := h.asked()
				pass(day)
				if n = h.asked() - n; n < 15 || n > 30 {
					t.Errorf("%d requests a day, want one an hour or so", n)
				}
				h.set(func() { h.answer, h.silent = nil, false })
				pass(2 * time.Hour)
				if !s.Leased(topic) {
					t.Error("the hub works again, and there is no lease")
				}
			})
		})
	}
}

// A hub that has not answered may verify afterwards, for some time.
func TestVerifiedAfterNoAnswer(t *testing.T) {
	subscribing(t, func(t *testing.T, h *testHub, s *Subscriber) {
		h.set(func() { h.answer = func(int, asked) *http.Response { return nil } })
		s.Want(one())
		pass(12 * time.Hour) // requests are an hour apart
		for n := h.asked(); h.asked() == n; {
			pass(time.Minute)
		}
		pass(verifyWithin)
		h.verify(h.last().form)
		if s.Leased(topic) {
			t.Error("a verification is confirmed after its time")
		}
		for n := h.asked(); h.asked() == n; {
			pass(time.Minute)
		}
		h.verify(h.last().form)
		if !s.Leased(topic) {
			t.Error("a verification is not confirmed in its time")
		}
	})
}

// A hub may verify before it fails to answer.
func TestVerifiedWithoutAnAnswer(t *testing.T) {
	subscribing(t, func(t *testing.T, h *testHub, s *Subscriber) {
		h.answer = func(_ int, r asked) *http.Response {
			h.verify(r.form)
			return nil
		}
		s.Want(one())
		pass(time.Hour)
		if !s.Leased(topic) || h.asked() != 1 {
			t.Errorf("leased %t after %d requests", s.Leased(topic), h.asked())
		}
	})
}

// The next Run subscribes anew; leases that there are go on meanwhile.
func TestRunAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &testHub{t: t}
		h.sub = newSubscriber(h)
		stop := running(t, h.sub)
		h.sub.Want(one())
		pass(time.Second)
		first := h.last().form
		if err := h.sub.Run(t.Context()); err != ErrRunning {
			t.Errorf("a second Run returns %v", err)
		}
		stop()
		pass(time.Hour)
		begun := time.Now()
		if got := h.push("early").Code; got != http.StatusServiceUnavailable || time.Since(begun) > 0 {
			t.Errorf("a push while nothing runs is answered %d", got)
		}
		h.silent = true
		defer running(t, h.sub)()
		pass(time.Second)
		if !h.sub.Leased(topic) || h.asked() != 2 || h.last().form.Encode() != first.Encode() {
			t.Errorf("leased %t after %d requests; the second for %v, the first for %v", h.sub.Leased(topic), h.asked(), h.last().form, first)
		}
	})
}

// Requests are made a few at a time, and all in the end.
func TestManyTopics(t *testing.T) {
	subscribing(t, func(t *testing.T, h *testHub, s *Subscriber) {
		var topics []Topic
		now, most := map[string]int{}, 0
		for i := range 2000 {
			topics = append(topics, Links{Hubs: []string{fmt.Sprintf("https://hub%d.example/", i%7)}, Self: fmt.Sprint("https://feeds.example/", i)}.Topic())
		}
		h.answer = func(_ int, r asked) *http.Response {
			h.set(func() { now[r.url]++; most = max(most, now[r.url]) })
			<-time.After(time.Second)
			h.set(func() { now[r.url]-- })
			return reply(202)
		}
		s.Want(topics)
		pass(time.Hour)
		if st := s.Stats(); st.Leased != 2000 || st.Topics != 2000 || most != maxHubAtOnce {
			t.Errorf("%+v, %d at a time to one hub", st, most)
		}
	})
}
