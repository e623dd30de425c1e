package websub

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

const day = 24 * time.Hour

// What a hub is asked for.
func TestRequest(t *testing.T) {
	subscribing(t, func(t *testing.T, h *testHub, s *Subscriber) {
		s.Want("a", topic)
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
		if st := s.Stats(); st.Feeds != 1 || st.Leased != 1 || st.Requests != 1 || st.Verified != 1 {
			t.Errorf("counted %+v", st)
		}
	})
}

// The next process has the same paths and secrets; another key, feed, topic or hub gives
// others.
func TestPathsAndSecretsAreDerived(t *testing.T) {
	all := map[string]int{}
	for _, key := range []string{"key", "key", "other"} {
		for _, sub := range [][3]string{{"a", "t", hubURL}, {"b", "t", hubURL}, {"a", "u", hubURL}, {"a", "t", "https://evil.example/"}} {
			s := newSubscription([]byte(key), sub[0], NewTopic(sub[1], sub[2]))
			all[s.token]++
			all[s.secret]++
		}
	}
	if len(all) != 16 {
		t.Errorf("%d different ones, want 16: %v", len(all), all)
	}
}

// Hubs verify before or after they answer, and give leases of their own.
func TestLeases(t *testing.T) {
	for _, c := range []struct {
		name, lease string
		status      int
		first, last time.Duration // when it is renewed
	}{
		{"as asked", "", 202, 108 * time.Hour, 120 * time.Hour},
		{"Superfeedr: 204", "", 204, 108 * time.Hour, 120 * time.Hour},
		{"Webubbub: a day", "86400", 202, 10 * time.Hour, 12 * time.Hour},
		{"0.3: none said", "-", 204, 108 * time.Hour, 120 * time.Hour},
		{"nonsense", "soon", 202, 108 * time.Hour, 120 * time.Hour},
		{"negative", "-5", 202, 108 * time.Hour, 120 * time.Hour},
		{"a moment", "1", 202, time.Minute, time.Minute},
		{"without end", "99999999999999", 202, 4 * 365 * day, 5 * 365 * day},
	} {
		t.Run(c.name, func(t *testing.T) {
			subscribing(t, func(t *testing.T, h *testHub, s *Subscriber) {
				h.lease, h.answer = c.lease, func(int, asked) *http.Response { return reply(c.status) }
				s.Want("a", topic)
				pass(c.first - time.Second)
				if h.asked() != 1 {
					t.Errorf("%d requests before a renewal is due", h.asked())
				}
				pass(c.last - c.first + 2*time.Second)
				if h.asked() != 2 || h.count(&h.verified) != 2 {
					t.Errorf("%d requests, %d verified, after a renewal was due", h.asked(), h.count(&h.verified))
				}
				if c.last > time.Hour && h.leased() != 1 {
					t.Error("no lease")
				}
			})
		})
	}
}

// A hub that has not accepted a lease is asked for one of its own choice: at once if it has
// refused the request, else with the next attempt.
func TestLeasesThatAHubRefuses(t *testing.T) {
	for _, c := range []struct {
		name   string
		status int
		within time.Duration
	}{
		{"400", 400, time.Second},
		{"422", 422, time.Second},
		{"406 with a wait", 406, 2 * time.Minute},
		{"403", 403, 2 * time.Minute},
		{"500", 500, 2 * time.Minute},
		{"accepted and denied", 202, 16 * time.Minute},
	} {
		t.Run(c.name, func(t *testing.T) {
			subscribing(t, func(t *testing.T, h *testHub, s *Subscriber) {
				h.silent, h.lease = true, "86400"
				h.answer = func(_ int, r asked) *http.Response {
					if !r.form.Has("hub.lease_seconds") {
						go h.verify(r.form)
						return reply(202)
					}
					if c.status == 202 {
						go h.get(r.form.Get("hub.callback"), url.Values{"hub.mode": {"denied"}, "hub.topic": {topicURL}, "hub.reason": {"lease_seconds over 86400"}})
					}
					if c.status == 406 {
						return reply(406, "Retry-After", "120")
					}
					return reply(c.status)
				}
				s.Want("a", topic)
				pass(c.within)
				if h.leased() != 1 || h.asked() != 2 || (s.Stats().Failures == 0) != (c.status == 202) {
					t.Errorf("leased %d, %d requests after %s, want 1 and 2; counted %+v", h.leased(), h.asked(), c.within, s.Stats())
				}
				pass(13 * time.Hour)
				if h.leased() != 1 || h.asked() != 4 {
					t.Errorf("leased %d, %d requests after a renewal, want 1 and 4", h.leased(), h.asked())
				}
			})
		})
	}
}

// A hub that refuses everything is not asked more often for that; the feed's next hub is asked
// for a lease first.
func TestNextHubIsAskedForALease(t *testing.T) {
	subscribing(t, func(t *testing.T, h *testHub, s *Subscriber) {
		h.answer = func(_ int, r asked) *http.Response {
			if r.url == hubURL {
				return reply(422)
			}
			return reply(202)
		}
		s.Want("a", NewTopic(topicURL, hubURL, "https://hub2.example/"))
		pass(time.Hour)
		got := ""
		for _, r := range h.all() {
			got += " " + r.url + r.form.Get("hub.lease_seconds")
		}
		if want := " " + hubURL + "864000 " + hubURL + " " + hubURL + " https://hub2.example/864000"; got != want {
			t.Errorf("asked%s, want%s", got, want)
		}
		if h.leased() != 1 || s.Stats().Failures != giveUpAfter {
			t.Errorf("%d leased, counted %+v", h.leased(), s.Stats())
		}
	})
}

// A hub that is busy is asked again when it says; the lease goes on until then.
func TestBusyHub(t *testing.T) {
	subscribing(t, func(t *testing.T, h *testHub, s *Subscriber) {
		h.answer = func(n int, _ asked) *http.Response {
			if n == 2 || n == 3 {
				return reply(503, "Retry-After", "120")
			}
			return reply(202)
		}
		s.Want("a", topic)
		pass(6 * day)
		if h.asked() != 4 || h.leased() != 1 || h.count(&h.verified) != 2 {
			t.Fatalf("%d requests, %d verified, %d leased", h.asked(), h.count(&h.verified), h.leased())
		}
		for i := 2; i < 4; i++ {
			if d := h.all()[i].at.Sub(h.all()[i-1].at); d < 2*time.Minute || d > 5*time.Minute {
				t.Errorf("asked again after %s, want 2 minutes or a little more", d)
			}
		}
	})
}

// What is logged of a hub's refusal, or of a connection that fails, has no secret in it.
func TestSecretsAreNotLogged(t *testing.T) {
	subscribing(t, func(t *testing.T, h *testHub, s *Subscriber) {
		var logs bytes.Buffer
		s.cfg.Logger = slog.New(slog.NewTextHandler(&logs, nil))
		h.answer = func(n int, r asked) *http.Response {
			if n > 1 {
				return nil
			}
			resp := reply(400)
			resp.Body = io.NopCloser(strings.NewReader("bad form: " + r.form.Encode() + r.form.Get("hub.callback")))
			return resp
		}
		s.Want("a", NewTopic(topicURL, hubURL+"?key=canary"))
		pass(time.Minute)
		form, text := h.last().form, logs.String()
		for _, hidden := range []string{form.Get("hub.secret"), form.Get("hub.callback"), url.QueryEscape(form.Get("hub.callback")), "canary"} {
			if hidden == "" || strings.Contains(text, hidden) || !strings.Contains(text, "bad form") || !strings.Contains(text, "reset by peer") {
				t.Errorf("logged %s, want it without %q", text, hidden)
			}
		}
	})
}

// A hub that is closed is asked for nothing.
func TestClosedHubIsLeftAlone(t *testing.T) {
	subscribing(t, func(t *testing.T, h *testHub, s *Subscriber) {
		h.answer = func(int, asked) *http.Response { return reply(503, "Retry-After", "3600") }
		for i := range 200 {
			s.Want(fmt.Sprint(i), NewTopic(fmt.Sprint("https://feeds.example/", i), hubURL))
		}
		pass(59 * time.Minute)
		if h.asked() != 1 {
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
				s.Want("a", topic)
				pass(time.Minute)
				h.set(func() { hub(h) })
				pass(10*day - 2*time.Minute)
				if h.leased() != 1 || h.asked() < 20 {
					t.Errorf("before the lease's end: leased %t, %d requests", h.leased() == 1, h.asked())
				}
				pass(2 * time.Minute)
				if h.leased() == 1 {
					t.Error("leased after the lease's end")
				}
				n := h.asked()
				pass(day)
				if n = h.asked() - n; n < 15 || n > 30 {
					t.Errorf("%d requests a day, want one an hour or so", n)
				}
				h.set(func() { h.answer, h.silent = nil, false })
				pass(2 * time.Hour)
				if h.leased() != 1 {
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
		s.Want("a", topic)
		pass(12 * time.Hour) // requests are an hour apart
		for n := h.asked(); h.asked() == n; {
			pass(time.Minute)
		}
		pass(verifyWithin)
		h.verify(h.last().form)
		if h.leased() == 1 {
			t.Error("a verification is confirmed after its time")
		}
		for n := h.asked(); h.asked() == n; {
			pass(time.Minute)
		}
		h.verify(h.last().form)
		if h.leased() != 1 {
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
		s.Want("a", topic)
		pass(time.Hour)
		if h.leased() != 1 || h.asked() != 1 {
			t.Errorf("leased %t after %d requests", h.leased() == 1, h.asked())
		}
	})
}

// The next Run subscribes anew; leases that there are go on meanwhile.
func TestRunAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &testHub{t: t}
		h.sub = newSubscriber(h)
		stop := running(h.sub)
		h.sub.Want("a", topic)
		pass(time.Second)
		first := h.last().form
		stop()
		pass(time.Hour)
		begun := time.Now()
		if got := h.push("early").Code; got != http.StatusServiceUnavailable || time.Since(begun) > 0 {
			t.Errorf("a push while nothing runs is answered %d", got)
		}
		h.silent = true
		defer running(h.sub)()
		pass(time.Second)
		if h.leased() != 1 || h.asked() != 2 || h.last().form.Encode() != first.Encode() {
			t.Errorf("leased %t after %d requests; the second for %v, the first for %v", h.leased() == 1, h.asked(), h.last().form, first)
		}
	})
}

// Hubs are asked for one thing at a time, and for all in the end.
func TestManyTopics(t *testing.T) {
	subscribing(t, func(t *testing.T, h *testHub, s *Subscriber) {
		now, most, all := map[string]int{}, 0, 0
		h.answer = func(_ int, r asked) *http.Response {
			host, _, _ := strings.Cut(strings.TrimPrefix(r.url, "https://"), "/")
			h.set(func() { now[host]++; most = max(most, now[host]); all = max(all, len(now)) })
			<-time.After(time.Second)
			h.set(func() {
				if now[host]--; now[host] == 0 {
					delete(now, host)
				}
			})
			return reply(202)
		}
		for i := range 2000 {
			s.Want(fmt.Sprint(i), NewTopic(fmt.Sprint("https://feeds.example/", i), fmt.Sprintf("https://hub%d.example/%d", i%20, i%3)))
		}
		pass(time.Hour)
		if st := s.Stats(); st.Leased != 2000 || st.Feeds != 2000 || most != 1 || all != maxRequests {
			t.Errorf("%+v, %d at a time to one hub, %d to all", st, most, all)
		}
	})
}

// 307 and 308 name another hub, within bounds.
func TestOtherHubs(t *testing.T) {
	for _, c := range []struct {
		name  string
		moves map[string]string // by hub
		asked []string
	}{
		{"307", map[string]string{hubURL: "307 https://b.example/x"}, []string{hubURL, "https://b.example/x"}},
		{"308, relative", map[string]string{hubURL: "308 /y?z=1"}, []string{hubURL, "https://hub.example/y?z=1"}},
		{"302 is none", map[string]string{hubURL: "302 https://b.example/"}, []string{hubURL}},
		{"a private one", map[string]string{hubURL: "307 https://internal.example/"}, []string{hubURL}},
		{"without TLS", map[string]string{hubURL: "307 http://b.example/"}, []string{hubURL}},
		{"no address", map[string]string{hubURL: "307 ::"}, []string{hubURL}},
		{"in a circle", map[string]string{hubURL: "307 " + hubURL}, []string{hubURL, hubURL, hubURL, hubURL, hubURL}},
	} {
		t.Run(c.name, func(t *testing.T) {
			subscribing(t, func(t *testing.T, h *testHub, s *Subscriber) {
				h.answer = func(_ int, r asked) *http.Response {
					if status, to, ok := strings.Cut(c.moves[r.url], " "); ok {
						code, err := strconv.Atoi(status)
						if err != nil {
							t.Error(err)
						}
						return reply(code, "Location", to)
					}
					return reply(202)
				}
				s.Want("a", topic)
				pass(time.Second)
				var got []string
				for _, r := range h.all() {
					got = append(got, r.url)
				}
				if !slices.Equal(got, c.asked) {
					t.Errorf("asked %q, want %q", got, c.asked)
				}
			})
		})
	}
}

// Pushes for a feed that is not wanted any more, or has another topic, end.
func TestNotWanted(t *testing.T) {
	subscribing(t, func(t *testing.T, h *testHub, s *Subscriber) {
		s.Want("a", topic)
		s.Want("a", topic)
		pass(time.Second)
		s.Want("a", topic)
		pass(time.Second)
		first := h.last().form.Get("hub.callback")
		s.Want("a", NewTopic(topicURL+"?2", hubURL))
		pass(time.Second)
		if got := h.pushTo(first, "late").Code; got != http.StatusGone || h.asked() != 2 || h.leased() != 1 {
			t.Errorf("a push of the topic before is answered %d; %d requests, %d leased", got, h.asked(), h.leased())
		}
		s.Want("a", NewTopic(topicURL))
		if got := h.push("late").Code; got != http.StatusGone || s.Stats().Feeds != 0 || s.Stats().Dropped != 2 {
			t.Errorf("a push is answered %d, counted %+v", got, s.Stats())
		}
		pass(10 * day)
		if h.asked() != 2 || len(s.hubs) != 0 {
			t.Errorf("%d requests, want none more; %d hubs are remembered", h.asked(), len(s.hubs))
		}
	})
}
