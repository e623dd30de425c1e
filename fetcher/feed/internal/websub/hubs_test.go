package websub

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

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
						var code int
						fmt.Sscan(status, &code)
						return reply(code, "Location", to)
					}
					return reply(202)
				}
				s.Want(one())
				pass(time.Second)
				var got []string
				for _, r := range h.all() {
					got = append(got, r.url)
				}
				if !slices.Equal(got, c.asked) {
					t.Errorf("asked %q, want %q", got, c.asked)
				}
				if want := len(c.moves) == 1 && len(c.asked) == 2; s.Leased(topic) != want {
					t.Errorf("leased %t, want %t", !want, want)
				}
			})
		})
	}
}

// A hub that does not work is left for the next one that the feed names.
func TestNextHub(t *testing.T) {
	subscribing(t, func(t *testing.T, h *testHub, s *Subscriber) {
		h.answer = func(_ int, r asked) *http.Response {
			if r.url == hubURL {
				return reply(404)
			}
			return reply(202)
		}
		topic := Links{Hubs: []string{hubURL, "https://b.example/hub"}, Self: topicURL}.Topic()
		s.Want([]Topic{topic})
		pass(time.Hour)
		if !s.Leased(topic) || s.Hub(topic) != "https://b.example/hub" || h.asked() != giveUpAfter+1 {
			t.Errorf("leased %t of %s after %d requests", s.Leased(topic), s.Hub(topic), h.asked())
		}
		if h.all()[0].form.Get("hub.callback") == h.last().form.Get("hub.callback") {
			t.Error("two hubs have one path")
		}
	})
}

// A feed may claim another one's topic. With a hub of its own it gets a subscription of its
// own, and that hub no way to the other one's.
func TestTopicsOfSeveralHubs(t *testing.T) {
	subscribing(t, func(t *testing.T, h *testHub, s *Subscriber) {
		var topics []Topic
		for _, hubs := range [][]string{{hubURL}, {"https://evil.example/"}, {hubURL, "https://evil.example/"}} {
			topics = append(topics, Links{Hubs: hubs, Self: topicURL}.Topic())
		}
		s.Want(topics)
		pass(time.Second)
		forms := map[string]bool{}
		for _, r := range h.all() {
			forms[r.form.Get("hub.callback")], forms[r.form.Get("hub.secret")] = true, true
		}
		if h.asked() != 3 || len(forms) != 6 {
			t.Errorf("%d requests with %d paths and secrets, want 3 and 6", h.asked(), len(forms))
		}
		stop := taking(s, nil)
		for _, r := range h.all() {
			h.pushTo(r.form.Get("hub.callback"), r.url, "X-Hub-Signature", sign(r.form.Get("hub.secret"), r.url))
		}
		got := map[Topic]int{}
		for _, p := range stop() {
			got[p.Topic]++
		}
		if len(got) != 3 {
			t.Errorf("pushes for %v, want one for each", got)
		}
	})
}

// What is not wanted any more is unsubscribed from, a few times; pushes are told so.
func TestUnsubscribe(t *testing.T) {
	for _, silent := range []bool{false, true} {
		subscribing(t, func(t *testing.T, h *testHub, s *Subscriber) {
			s.Want(one())
			pass(time.Second)
			h.set(func() { h.silent = silent })
			s.Want(nil)
			pass(time.Second)
			if got := h.last().form; got.Get("hub.mode") != "unsubscribe" || got.Has("hub.secret") || got.Has("hub.lease_seconds") || s.Leased(topic) {
				t.Errorf("asked for %v, leased %t", got, s.Leased(topic))
			}
			if got := h.push("late").Code; got != http.StatusGone {
				t.Errorf("a push is answered %d", got)
			}
			pass(3 * day)
			want := 2
			if silent {
				want = 1 + farewells
			}
			if h.asked() != want || held(s) != 0 {
				t.Errorf("silent %t: %d requests, %d topics are left", silent, h.asked(), held(s))
			}
			if got := h.push("very late").Code; got != http.StatusGone {
				t.Errorf("a push is answered %d, want 410", got)
			}
		})
	}
}

// A topic that is wanted again before the hub has let it go stays.
func TestWantedAgain(t *testing.T) {
	subscribing(t, func(t *testing.T, h *testHub, s *Subscriber) {
		s.Want(one())
		pass(time.Second)
		h.set(func() { h.silent = true })
		s.Want(nil)
		pass(time.Second)
		goodbye := h.last().form
		h.set(func() { h.silent = false })
		s.Want(one())
		answered := h.verify(goodbye) // before the third request or after it
		pass(time.Minute)
		if !s.Leased(topic) || h.asked() != 3 || answered != http.StatusNotFound {
			t.Errorf("leased %t after %d requests; the goodbye's verification was answered %d", s.Leased(topic), h.asked(), answered)
		}
	})
}
