package engineui_test

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/apikey"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule"
)

// listed are the names of the rows of a list, on all its pages.
func listed(t *testing.T, w *world, viewer, path string) (names []string, pages int) {
	t.Helper()
	for path != "" {
		body := shows(t, w, viewer, path)
		pages++
		for _, row := range regexp.MustCompile(`(?s)<tr><th scope="row"[^>]*><(?:a|span)[^>]*>(.*?)</(?:a|span)>`).FindAllStringSubmatch(body, -1) {
			names = append(names, plain(row[1]))
		}
		path = ""
		for _, g := range tags(t, body) {
			if g.attr["rel"] == "next" {
				path = "/" + g.attr["href"]
			}
		}
	}
	return names, pages
}

// Lists are searched by name, account, text and id, filtered by state and owner, and read in pages.
func TestLists(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, withKeys(t))
		var second string
		for _, n := range []string{"first", "second", "third"} {
			m, err := w.engine.Monitors().Create(t.Context(), monitor.CreateRequest{Owner: "acme", Name: n, Usernames: []string{"Account_Of_" + n}})
			if err != nil {
				t.Fatal(err)
			}
			if n == "second" {
				second = m.ID
				if _, err := w.engine.Monitors().Pause(t.Context(), "acme", m.ID); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := w.engine.Rules().Create(t.Context(), rule.CreateRequest{Owner: "acme", Tag: n, Query: "word of " + n, Interval: time.Minute}); err != nil {
				t.Fatal(err)
			}
			k, err := w.keys.Issue(t.Context(), apikey.IssueRequest{Owner: "acme", Name: n, ExpiresAt: map[string]time.Time{"third": time.Now().Add(time.Minute)}[n]})
			if err != nil {
				t.Fatal(err)
			}
			if n == "second" {
				if _, err := w.keys.Revoke(t.Context(), "acme", k.ID); err != nil {
					t.Fatal(err)
				}
			}
			<-time.After(time.Second)
		}
		<-time.After(2 * time.Minute)
		for _, row := range []struct {
			viewer, path string
			want         string // names, the newest first
		}{
			{"acme", "/monitors", "third second first acme-monitor"},
			{"globex", "/monitors", "globex-monitor"},
			{"globex", "/monitors?owner=acme", "globex-monitor"},
			{"operator", "/monitors?state=paused", "second"},
			{"operator", "/monitors?find=globex", "globex-monitor"},
			{"operator", "/monitors?owner=globex", "globex-monitor"},
			{"acme", "/monitors?find=account_of_THIRD", "third"},
			{"acme", "/monitors?find=" + second, "second"},
			{"acme", "/monitors?find=globex", ""},
			{"acme", "/monitors?state=paused", "second"},
			{"acme", "/monitors?state=active&find=t", "third first acme-monitor"},
			{"acme", "/rules?find=WORD", "third second first"},
			{"acme", "/rules?state=paused", ""},
			{"acme", "/endpoints", "hooks.acme.example.com"},
			{"operator", "/endpoints?find=globex-monitor", "hooks.globex.example.com"},
			{"acme", "/endpoints?state=disabled", ""},
			{"acme", "/keys", "third second first"},
			{"acme", "/keys?state=expired", "third"},
			{"acme", "/keys?state=revoked", "second"},
			{"acme", "/keys?find=first", "first"},
			{"globex", "/keys", ""},
			{"operator", "/keys?state=active", "first"},
			{"operator", "/owners", "acme globex"},
			{"operator", "/owners?find=GLO", "globex"},
		} {
			if names, _ := listed(t, w, row.viewer, row.path); strings.Join(names, " ") != row.want {
				t.Errorf("%s, %s: %q, want %q", row.viewer, row.path, names, row.want)
			}
		}
		shows(t, w, "acme", "/monitors", "All 4 active 3 paused 1")
		shows(t, w, "acme", "/monitors?state=paused", "All 4 active 3 paused 1", "paused by its owner")
		shows(t, w, "acme", "/monitors?find=nowhere", "Nothing here has “nowhere”. Show all")
		for _, path := range []string{"/monitors?state=lost", "/monitors?cursor=x", "/monitors?cursor=1", "/keys?state=paused", "/monitors?find=" + strings.Repeat("x", 401)} {
			if status, _ := get(w, "acme", path); status != http.StatusBadRequest {
				t.Errorf("%s: status %d, want 400", path, status)
			}
		}
	})
}

// A list comes in pages of 50, each row once, also if rows of earlier pages go and others come.
func TestListInPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		var ids []string
		add := func(n int) {
			m, err := w.engine.Monitors().Create(t.Context(), monitor.CreateRequest{Owner: "acme", Name: fmt.Sprintf("name-%03d", n), Usernames: []string{"acme_news"}})
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, m.ID)
		}
		for n := range 120 { // some of them at the same time
			add(n)
		}
		names, pages := listed(t, w, "acme", "/monitors")
		slices.Sort(names)
		if len(slices.Compact(names)) != 121 || pages != 3 {
			t.Errorf("%d monitors on %d pages, want 121 on 3", len(names), pages)
		}
		second := follow(t, shows(t, w, "acme", "/monitors"), "monitors?cursor=")
		before, _ := listed(t, w, "acme", second)
		<-time.After(time.Second)
		add(200)
		if err := w.engine.Monitors().Delete(t.Context(), "acme", ids[119]); err != nil {
			t.Fatal(err)
		}
		before = slices.DeleteFunc(before, func(name string) bool { return name == "name-119" })
		if after, _ := listed(t, w, "acme", second); !slices.Equal(before, after) {
			t.Errorf("from the second page on: %q, want %q", after, before)
		}
	})
}

// The box finds what there is by name, account, host and id, and leads to the only hit.
func TestFind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, withKeys(t))
		w.post("acme_news", "Lift-off")
		w.post("globex_news", "another post")
		delivery := strings.TrimPrefix(aDelivery(t, w), "/event?delivery=")
		endpoint := strings.TrimPrefix(anEndpoint(t, w), "/endpoint?endpoint=")
		for _, row := range []struct {
			viewer, find string
			want         string // where it leads; "" for the page of hits
		}{
			{"acme", "acme_news", "account?account=acme_news"},
			{"acme", "acme-monitor", "monitor?monitor="},
			{"acme", "hooks.acme.example.com", "endpoint?endpoint=" + endpoint},
			{"acme", endpoint, "endpoint?endpoint=" + endpoint},
			{"acme", delivery, "event?delivery=" + delivery},
			{"acme", "99", ""},
			{"acme", "", ""},
			{"acme", "globex", ""},
			{"acme", "globex_news", ""},
			{"acme", "example.com", "endpoint?endpoint=" + endpoint},
			{"globex", delivery, ""},
			{"globex", endpoint, ""},
			{"operator", "globex_news", "account?account=globex_news"},
			{"operator", "globex", "owner?owner=globex"},
			{"operator", delivery, "event?delivery=" + delivery + "&owner=acme"},
			{"operator", endpoint, "endpoint?endpoint=" + endpoint},
			{"operator", "example.com", ""},
		} {
			got := ask(w, http.MethodGet, "/find?find="+url.QueryEscape(row.find), "", http.Header{"Viewer": {row.viewer}})
			if to := got.Header().Get("Location"); row.want == "" && got.Code != http.StatusOK || !strings.HasPrefix(to, row.want) || row.want == "" && to != "" {
				t.Errorf("%s finds %q: status %d, leads to %q, want %q", row.viewer, row.find, got.Code, to, row.want)
			}
		}
		has(t, shows(t, w, "operator", "/find?find=example.com"), "2 hits", "hooks.acme.example.com", "hooks.globex.example.com")
		has(t, shows(t, w, "acme", "/find?find=globex"), "Nothing has this name, account, host or id.")
	})
}

// In a program with one owner, who has no name, nothing needs to be chosen.
func TestOwnerWithoutAName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		if _, err := w.engine.Monitors().Create(t.Context(), monitor.CreateRequest{Name: "only", Usernames: []string{"acme_news"}, PollInterval: time.Second, WebhookURL: "https://hooks.example.com/in", WebhookSecret: hookSecret}); err != nil {
			t.Fatal(err)
		}
		for _, owner := range []string{"acme", "globex"} {
			if err := w.engine.Monitors().Delete(t.Context(), owner, w.monitor(owner)); err != nil {
				t.Fatal(err)
			}
		}
		w.post("acme_news", "Lift-off")
		for path, want := range map[string]string{"/deliveries": "Lift-off", "/events": "Lift-off", "/owners": "(no name)", "/owner": "Lift-off", "/monitors": "only", "/": "Lift-off"} {
			shows(t, w, "operator", path, want)
		}
		shows(t, w, "operator", follow(t, shows(t, w, "operator", "/events"), "event?"), "tweet.detected", "delivered")
	})
}

// Deliveries and events are an owner's: an operator chooses one, unless there is only one.
func TestChosenOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.post("acme_news", "Lift-off")
		w.post("globex_news", "another post")
		for _, path := range []string{"deliveries", "events", "credits"} {
			body := shows(t, w, "operator", "/"+path, "Choose one")
			if strings.Contains(body, "Lift") {
				t.Errorf("/%s shows an owner's that was not chosen", path)
			}
			text := map[string]string{"credits": "top_up"}[path]
			if text == "" {
				text = "Lift-off"
			}
			shows(t, w, "operator", follow(t, body, path+"?owner=acme"), text)
			shows(t, w, "acme", "/"+path, text)
		}
		for _, path := range []string{"/deliveries", "/events"} {
			if body := shows(t, w, "acme", path+"?find=ANOTHER"); strings.Contains(body, "another post") {
				t.Errorf("%s shows acme a post of globex", path)
			}
			shows(t, w, "acme", path+"?find=lift", "Lift-off", "Among 1 newest")
			shows(t, w, "acme", path+"?find=ACME_NEWS", "Lift-off")
			if status, _ := get(w, "acme", path+"?cursor=x"); status != http.StatusBadRequest {
				t.Errorf("%s: a cursor of one's own: status %d", path, status)
			}
		}
		shows(t, w, "acme", "/deliveries?state=delivered", "Lift-off")
		shows(t, w, "acme", "/deliveries?state=pending", "Nothing here is pending")
		for n := range 60 { // more than a page
			w.post("acme_news", fmt.Sprint("later ", n))
		}
		for _, path := range []string{"/deliveries", "/events"} {
			shows(t, w, "acme", path+"?find=lift", "Lift-off", "Among 61 newest")
		}
	})
}
