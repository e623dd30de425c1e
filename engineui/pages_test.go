package engineui_test

import (
	"context"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/endpoints"
	"github.com/streamwatch/streamwatch/engineui"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule"
)

// shows reports what a page lacks.
func shows(t *testing.T, w http.Handler, viewer, path string, want ...string) string {
	t.Helper()
	status, body := get(w, viewer, path)
	if status != http.StatusOK {
		t.Fatalf("%s gets %s: status %d", viewer, path, status)
	}
	sound(t, body)
	for _, text := range want {
		if !holds(body, text) {
			t.Errorf("%s lacks %q for %s: %s", path, text, viewer, plain(body))
		}
	}
	return body
}

// follow finds the first link of a page that begins so.
func follow(t *testing.T, body, begin string) string {
	t.Helper()
	for _, g := range tags(t, body) {
		if strings.HasPrefix(g.attr["href"], begin) {
			return "/" + g.attr["href"]
		}
	}
	t.Fatalf("no link begins with %q:\n%s", begin, body)
	return ""
}

// submit sends a form of a page and follows where it leads.
func submit(t *testing.T, w http.Handler, viewer, path, form string) (status int, body string) {
	t.Helper()
	got := ask(w, http.MethodPost, path, form, http.Header{"Viewer": {viewer}, "Sec-Fetch-Site": {"same-origin"}})
	if got.Code != http.StatusSeeOther {
		return got.Code, got.Body.String()
	}
	then := http.Header{"Viewer": {viewer}}
	for _, c := range got.Result().Cookies() {
		then.Add("Cookie", c.Name+"="+c.Value)
	}
	page := ask(w, http.MethodGet, "/"+strings.TrimPrefix(got.Header().Get("Location"), "./"), "", then)
	return page.Code, page.Body.String()
}

// From the list of the worst accounts to one of them, its polls and its posts, to one of
// these and its way.
func TestAccounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		<-time.After(3 * time.Second)
		w.post("acme_news", "Lift-off")
		w.post("globex_news", "another post")
		for _, order := range []string{"failing", "silent", "gaps"} {
			shows(t, w, "acme", "/accounts?by="+order, "No account stands badly")
		}
		body := shows(t, w, "operator", "/accounts?by=slow", "acme_news", "globex_news")
		if body := shows(t, w, "acme", "/accounts?by=slow", "acme_news"); strings.Contains(body, "globex") {
			t.Error("acme sees an account of globex")
		}
		shows(t, w, "operator", follow(t, body, "account?account=acme_news"), "Watched by", "polls since", "the first of this process")
		shows(t, w, "operator", "/accounts?by=slow&owner=globex", "globex_news")
		body = shows(t, w, "acme", "/account?account=ACME_News", "acme_news", "Lift", "expected since the last", ">well<")
		shows(t, w, "acme", follow(t, body, "event?seq="), "Lift", "Judged", "1st attempt: 200", "delivered", "acme-<wbr>monitor")
		w.platform.SetProtected("acme_news", true)
		<-time.After(time.Minute)
		shows(t, w, "acme", "/accounts", "acme_<wbr>news", "protected")
		shows(t, w, "acme", "/account?account=acme_news", "It cannot be read.", "failed in a row")
		for path, want := range map[string]int{
			"/account?account=globex_news": http.StatusNotFound, "/account?account=nobody": http.StatusNotFound, "/account": http.StatusNotFound,
			"/accounts?by=size": http.StatusBadRequest,
		} {
			if status, _ := get(w, "acme", path); status != want {
				t.Errorf("%s: status %d, want %d", path, status, want)
			}
		}
	})
}

// An event shows its body, and of each delivery the attempts and the headers without
// secrets; it can be sent again by who may write.
func TestEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		hooks, err := w.engine.Endpoints().List(t.Context(), "acme", "")
		if err != nil {
			t.Fatal(err)
		}
		address := "https://hooks.acme.example.com/in?key=token-of-acme"
		if _, err := w.engine.Endpoints().Update(t.Context(), "acme", hooks[0].ID, endpoints.Update{URL: &address, Headers: []deliver.Header{{Name: "X-Api-Token", Value: "token-of-acme"}}}); err != nil {
			t.Fatal(err)
		}
		w.post("acme_news", "Lift-off")
		path := follow(t, shows(t, w, "acme", "/events", "Lift-off"), "event?")
		body := shows(t, w, "acme", path, "tweet.detected", deliver.HeaderSignature, deliver.HeaderStandardSignature, "X-Api-Token", "***", "https://hooks.acme.example.com/in", "200", "Send again")
		if regexp.MustCompile(`token-of-acme|sha256=|v1,`).MatchString(plain(body) + body) {
			t.Errorf("a secret, or a signature, is shown:\n%s", body)
		}
		if body := shows(t, w, "acme-reader", path); strings.Contains(body, `method="post"`) {
			t.Error("who may only read sees a form")
		}
		if status, _ := submit(t, w, "acme", "/"+regexp.MustCompile(`action="(event[^"]+)"`).FindStringSubmatch(body)[1], "action=resend"); status != http.StatusOK {
			t.Errorf("sent again: status %d", status)
		}
		<-time.After(3 * time.Second)
		shows(t, w, "acme", path, "1st attempt: 200", "2nd attempt: 200", "2 attempts of")
		for _, path := range []string{"/event", "/event?seq=0", "/event?seq=99", "/event?delivery=nothing"} {
			if status, _ := get(w, "acme", path); status != http.StatusNotFound {
				t.Errorf("%s: status %d, want 404", path, status)
			}
		}
	})
}

// accepts is a sender of the program's own, which makes no HTTP request.
type accepts struct{}

func (accepts) Send(context.Context, *deliver.Delivery) deliver.Result {
	return deliver.Result{OK: true}
}

// Only of a webhook's attempt are there headers to show.
func TestEventOfAnotherSender(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(cfg *streamwatch.Config, _ *engineui.Config) {
			cfg.Deliver.Senders = map[string]deliver.Sender{"desk": accepts{}}
		})
		list, err := w.engine.Monitors().Page(t.Context(), monitor.Query{Owner: "acme"})
		if err != nil {
			t.Fatal(err)
		}
		src := deliver.Source{Kind: deliver.SourceMonitor, ID: list.Monitors[0].ID, Owner: "acme", Name: list.Monitors[0].Name}
		if _, err := w.engine.Endpoints().Create(t.Context(), endpoints.NewEndpoint{Source: src, URL: "desk://news/1"}); err != nil {
			t.Fatal(err)
		}
		w.post("acme_news", "Lift-off")
		body := shows(t, w, "acme", follow(t, shows(t, w, "acme", "/events", "Lift-off"), "event?seq="), "desk://news", "hooks.acme.example.com")
		if n := strings.Count(body, "Headers of the last attempt"); n != 1 {
			t.Errorf("headers of %d deliveries are shown, want those of the webhook alone:\n%s", n, body)
		}
	})
}

// Events come in pages, the newest first, each once.
func TestEventsInPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		for range 130 {
			w.platform.Post("acme_news", "a post")
		}
		<-time.After(time.Minute)
		number := regexp.MustCompile(`<a href="event\?seq=(\d+)">`)
		var all []string
		path := "/events"
		for pages := 1; ; pages++ {
			body := shows(t, w, "acme", path)
			for _, m := range number.FindAllStringSubmatch(body, -1) {
				all = append(all, m[1])
			}
			if !strings.Contains(body, `rel="next"`) {
				if pages != 3 {
					t.Errorf("%d pages, want 3", pages)
				}
				break
			}
			for _, g := range tags(t, body) {
				if g.attr["rel"] == "next" {
					path = "/" + g.attr["href"]
				}
			}
		}
		if len(all) != 130 || all[0] != "130" || all[129] != "1" {
			t.Errorf("%d events, %v", len(all), all)
		}
		if status, _ := get(w, "acme", "/events?cursor=x"); status != http.StatusBadRequest {
			t.Errorf("a cursor of one's own: status %d", status)
		}
	})
}

// The page of an endpoint leads from the list, and has what can be done.
func TestEndpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.post("acme_news", "Lift-off")
		w.post("globex_news", "another post")
		shows(t, w, "operator", "/endpoints", "hooks.acme.example.com", "hooks.globex.example.com")
		shows(t, w, "operator", follow(t, shows(t, w, "operator", "/endpoints?owner=globex", "hooks.globex.example.com"), "endpoint?endpoint="), "globex-monitor")
		path := follow(t, shows(t, w, "acme", "/endpoints", "hooks.acme.example.com", "active"), "endpoint?endpoint=")
		page := shows(t, w, "acme", path, "steady", "Lift-off", "delivered", "any number of attempts", `name="hours"`)
		// Enter in a field presses the first button of its form that submits it.
		for _, form := range strings.Split(page, "<form")[1:] {
			if before, _, asks := strings.Cut(form, `name="hours"`); asks && strings.Contains(strings.ReplaceAll(before, `type="button"`, ""), `<button name`) {
				t.Errorf("Enter in the field of the hours presses another button: %s", before)
			}
		}
		if status, _ := submit(t, w, "acme", path, "action=explode"); status != http.StatusBadRequest {
			t.Errorf("an unknown action: status %d", status)
		}
		if body := shows(t, w, "acme-reader", path); strings.Contains(body, `method="post"`) {
			t.Error("who may only read sees a form")
		}
		shows(t, w, "acme", path+"&find=lift", "Lift-off")
		shows(t, w, "acme", path+"&find=nothing", "Nothing here has “nothing”")
		shows(t, w, "acme", path+"&state=delivered", "Lift-off")
		shows(t, w, "acme", path+"&state=failed", "Nothing here is failed")
		for _, query := range []string{"&state=lost", "&cursor=x", "&find=" + strings.Repeat("x", 401)} {
			if status, _ := get(w, "acme", path+query); status != http.StatusBadRequest {
				t.Errorf("%s: status %d, want 400", query, status)
			}
		}
	})
}

// Rules are listed, and a query is tried on the owner's newest posts.
func TestRules(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		for owner, tag := range map[string]string{"acme": "launches", "globex": "globex-rule"} {
			if _, err := w.engine.Rules().Create(t.Context(), rule.CreateRequest{Owner: owner, Tag: tag, Query: "from:acme_news lift", Interval: time.Minute}); err != nil {
				t.Fatal(err)
			}
		}
		w.post("acme_news", "Lift off at noon")
		w.post("acme_news", "Weather")
		w.post("globex_news", "Lift of globex")
		body := shows(t, w, "acme", "/rules", "launches", "from:acme_news lift", "active")
		body = shows(t, w, "acme", follow(t, body, "rule?rule="), "1 of the newest 2 posts match", "Lift off at noon", "“Lift”")
		if strings.Contains(body, "globex") {
			t.Error("acme sees a post or a rule of globex")
		}
		for q, want := range map[string]string{
			"lift OR weather": "2 of the newest 2 posts match", "(lift": "The query is not allowed", "nothing": "0 of the newest 2 posts match",
			strings.Repeat("a", 5000): "longer than 4,096", `<script>alert(1)</script>`: "&lt;script&gt;",
		} {
			body := shows(t, w, "acme", "/rules?query="+url.QueryEscape(q), want)
			if strings.Contains(body, "<script>a") {
				t.Error("a query becomes a script")
			}
		}
	})
}

// An operator who has chosen an owner stays there, also where it is their own, until
// they choose all.
func TestOperatorsStayAtAnOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(_ *streamwatch.Config, ui *engineui.Config) {
			ui.Authorize = func(*http.Request) (engineui.Viewer, error) {
				return engineui.Viewer{Owner: "acme", All: true, Write: true}, nil
			}
		})
		w.post("acme_news", "acme's post")
		w.post("globex_news", "globex's post")
		for _, owner := range []string{"acme", "globex"} {
			body := shows(t, w, "", "/endpoints?owner="+owner, owner+"-monitor")
			body = shows(t, w, "", follow(t, body, "endpoint?endpoint="), owner+"-monitor")
			for _, path := range []string{"accounts", "rules"} {
				if body := shows(t, w, "", follow(t, body, path)); !strings.Contains(body, `<input type="hidden" name="owner" value="`+owner+`">`) {
					t.Errorf("%s: the form of %s leaves the owner", owner, path)
				}
			}
			body = shows(t, w, "", follow(t, body, "endpoints"), owner+"-monitor")
			for _, other := range []string{"acme", "globex"} {
				if other != owner && strings.Contains(body, other+"-monitor") {
					t.Errorf("links from %s lead to %s", owner, other)
				}
			}
			shows(t, w, "", follow(t, body, "./"), owner+"&#39;s post", "All owners")
			body = shows(t, w, "", "/", "acme&#39;s post", "globex&#39;s post")
			if strings.Contains(body, "All owners") {
				t.Error("all owners are shown, and can be chosen")
			}
			shows(t, w, "", follow(t, body, "endpoints"), "acme-monitor", "globex-monitor")
		}
	})
}

// Which node polls an account is the operators' to know.
func TestNodeOfAnAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(cfg *streamwatch.Config, _ *engineui.Config) {
			cfg.Fleet = &streamwatch.FleetConfig{Name: "db-7.example.internal/4711"}
		})
		<-time.After(time.Minute)
		for viewer, told := range map[string]bool{"acme": false, "operator": true} {
			status, page := get(w, viewer, "/account?account=acme_news")
			if status != http.StatusOK || strings.Contains(plain(page), "db-7") != told {
				t.Errorf("%s: status %d, told the node: %t, want %t", viewer, status, !told, told)
			}
			if status, page := get(w, viewer, "/accounts?by=slow"); status != http.StatusOK || strings.Contains(plain(page), "db-7") && !told {
				t.Errorf("%s: the list of accounts has status %d, and the node", viewer, status)
			}
		}
		st, ok, err := w.engine.AccountOf(t.Context(), "acme", "acme_news")
		if err != nil || !ok || st.Node != "" {
			t.Errorf("AccountOf tells of the node %q: %t, %v", st.Node, ok, err)
		}
	})
}
