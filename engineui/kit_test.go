package engineui_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/net/html"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/apikey"
	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver/webhook"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/engineui"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/record"
	"github.com/streamwatch/streamwatch/storage/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// byHeader takes the viewer's name from a header: "operator", or an owner, who may write
// unless the name ends in "-reader", and manage keys if it ends in "-admin".
func byHeader(r *http.Request) (engineui.Viewer, error) {
	who, reads := strings.CutSuffix(r.Header.Get("Viewer"), "-reader")
	switch who {
	case "":
		return engineui.Viewer{}, engineui.ErrDenied
	case "nameless": // the owner in a program with one owner
		return engineui.Viewer{Write: true}, nil
	case "operator":
		return engineui.Viewer{Name: "operator", All: true, Write: !reads, Admin: true}, nil
	default:
		owner, admin := strings.CutSuffix(who, "-admin")
		return engineui.Viewer{Name: owner, Owner: owner, Write: !reads, Admin: admin || reads}, nil
	}
}

// hookSecret signs the webhooks of every owner; it must not be shown.
const hookSecret = "whsec_c2VjcmV0LXRoYXQtbXVzdC1ub3QtYmUtc2hvd24="

// world is an engine with two customers, and its console. It belongs into a synctest
// bubble.
type world struct {
	*engineui.Console
	t        *testing.T
	platform *enginetest.Platform
	store    *memory.Store
	engine   *streamwatch.Engine
	keys     *apikey.Manager // nil without withKeys
	ids      []string        // of globex's records
}

// records are an owner's records in the store, as text.
func (w *world) records(owner string) string {
	w.t.Helper()
	var b strings.Builder
	for _, kind := range []record.Kind{record.Monitor, record.Rule, record.Endpoint, record.APIKey} {
		list, _, err := w.store.Ports().Records.List(context.Background(), record.Query{Owner: owner, Kind: kind, Limit: 100})
		if err != nil {
			w.t.Fatal(err)
		}
		for _, r := range list {
			fmt.Fprintln(&b, r.Kind, r.ID, r.Name, r.Status, r.Version, string(r.Data))
		}
	}
	return b.String()
}

// newWorld starts one in which acme watches acme_news and globex watches globex_news,
// every second.
func newWorld(t *testing.T, change ...func(*streamwatch.Config, *engineui.Config)) *world {
	t.Helper()
	w := &world{t: t, store: memory.New(memory.Options{})}
	w.platform = enginetest.NewPlatform(enginetest.PlatformConfig{Seed: 1, Accounts: []string{"acme_news", "globex_news"}})
	hook := enginetest.NewReceiver(enginetest.ReceiverConfig{Secret: hookSecret})
	cfg := streamwatch.Config{Fetcher: w.platform, Store: w.store, Webhook: webhook.Config{Transport: hook.RoundTripper()}}
	ui := engineui.Config{Authorize: byHeader, Ledger: w.store.Ports().Ledger, Logger: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelError}))}
	for _, f := range change {
		f(&cfg, &ui)
	}
	var err error
	if w.engine, err = streamwatch.New(cfg); err != nil {
		t.Fatal(err)
	}
	if err := w.engine.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	ui.Engine, w.keys = w.engine, ui.Keys
	if w.Console, err = engineui.New(ui); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		w.Close()
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := w.engine.Shutdown(ctx); err != nil && !errors.Is(err, streamwatch.ErrNotRunning) {
			t.Error(err)
		}
		if err := w.store.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	for _, owner := range []string{"acme", "globex"} {
		m, err := w.engine.Monitors().Create(t.Context(), monitor.CreateRequest{Owner: owner, Name: owner + "-monitor", Usernames: []string{owner + "_news"},
			PollInterval: time.Second, WebhookURL: "https://hooks." + owner + ".example.com/in", WebhookSecret: hookSecret})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.store.Ports().Ledger.Append(t.Context(), billing.Entry{ID: owner + "-top-up", Owner: owner, Kind: billing.KindTopUp, Amount: 5 * billing.Credit, At: time.Now()}); err != nil {
			t.Fatal(err)
		}
		hooks, err := w.engine.Endpoints().List(t.Context(), owner, "")
		if err != nil {
			t.Fatal(err)
		}
		if owner == "globex" {
			w.ids = append(w.ids, m.ID, "globex_news", "globex-monitor", "globex")
			for _, h := range hooks {
				w.ids = append(w.ids, h.ID)
			}
		}
	}
	<-time.After(250 * time.Millisecond) // no post comes at the moment of a poll
	return w
}

// monitor is the id of an owner's first monitor.
func (w *world) monitor(owner string) string {
	w.t.Helper()
	page, err := w.engine.Monitors().Page(w.t.Context(), monitor.Query{Owner: owner})
	if err != nil || len(page.Monitors) == 0 {
		w.t.Fatal(page, err)
	}
	return page.Monitors[0].ID
}

// post publishes a post and lets it be found.
func (w *world) post(account, text string, opts ...enginetest.PostOption) {
	w.t.Helper()
	w.platform.Post(account, text, opts...)
	<-time.After(3 * time.Second)
}

// get asks for a page as a viewer, without a socket.
func get(h http.Handler, viewer, path string) (status int, body string) {
	w := ask(h, http.MethodGet, path, "", http.Header{"Viewer": {viewer}})
	return w.Code, w.Body.String()
}

func ask(h http.Handler, method, path, form string, header http.Header) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(form))
	for name, values := range header {
		r.Header[name] = values
	}
	if form != "" {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// tag is a start tag of a page.
type tag struct {
	name string
	attr map[string]string
}

// tags reads a page, and reports tags that are not closed as they were opened.
func tags(t *testing.T, page string) (all []tag) {
	t.Helper()
	void := []string{"meta", "link", "input", "br", "hr", "img", "wbr"}
	var open []string
	for z := html.NewTokenizer(strings.NewReader(page)); ; {
		kind := z.Next()
		token := z.Token()
		switch kind {
		case html.ErrorToken:
			if z.Err() != io.EOF {
				t.Errorf("not HTML: %v", z.Err())
			}
			if len(open) > 0 {
				t.Errorf("not closed: %v", open)
			}
			return all
		case html.StartTagToken, html.SelfClosingTagToken:
			one := tag{token.Data, map[string]string{}}
			for _, a := range token.Attr {
				if _, twice := one.attr[a.Key]; twice {
					t.Errorf("<%s> has %s twice", token.Data, a.Key)
				}
				one.attr[a.Key] = a.Val
			}
			all = append(all, one)
			if kind == html.StartTagToken && !slices.Contains(void, token.Data) {
				open = append(open, token.Data)
			}
		case html.EndTagToken:
			if len(open) == 0 || open[len(open)-1] != token.Data {
				t.Errorf("</%s> closes %v", token.Data, open)
				return all
			}
			open = open[:len(open)-1]
		}
	}
}

// sound reports what a page must not have, or lacks: by the policy, for keyboards and
// for those who cannot see it.
func sound(t *testing.T, page string) {
	t.Helper()
	all := tags(t, page)
	labels, ids := map[string]bool{}, map[string]bool{}
	count := map[string]int{}
	for _, g := range all {
		count[g.name]++
		if g.name == "label" {
			labels[g.attr["for"]] = true
		}
		if id, ok := g.attr["id"]; ok {
			if ids[id] {
				t.Errorf("the id %q is there twice", id)
			}
			ids[id] = true
		}
	}
	for _, g := range all {
		for name, value := range g.attr {
			if name == "style" || strings.HasPrefix(name, "on") {
				t.Errorf("<%s> has the attribute %s", g.name, name)
			}
			if (name == "href" || name == "src" || name == "action") && strings.Contains(value, ":") && g.attr["rel"] != "noopener noreferrer nofollow" {
				t.Errorf("<%s> leads to %q", g.name, value)
			}
			if strings.Contains(value, "ZgotmplZ") {
				t.Errorf("<%s> has the refused value %s=%q", g.name, name, value)
			}
		}
		switch g.name {
		case "style":
			t.Error("there is a <style>")
		case "script":
			if g.attr["src"] != "console.js" {
				t.Errorf("there is a script of %q", g.attr["src"])
			}
		case "svg":
			if g.attr["aria-hidden"] != "true" && (g.attr["role"] != "img" || g.attr["aria-label"] == "") {
				t.Errorf("an svg has no text: %v", g.attr)
			}
		case "th":
			if g.attr["scope"] == "" {
				t.Error("a <th> has no scope")
			}
		case "input", "select", "textarea":
			if g.attr["type"] != "hidden" && !labels[g.attr["id"]] && g.attr["aria-label"] == "" {
				t.Errorf("<%s name=%q> has no label", g.name, g.attr["name"])
			}
		}
	}
	if count["h1"] != 1 || count["main"] != 1 || count["title"] < 1 {
		t.Errorf("%d h1, %d main, %d title, want one of each", count["h1"], count["main"], count["title"])
	}
	if !ids["content"] || all[0].name != "html" || all[0].attr["lang"] == "" {
		t.Error("there is no skip link's target, or no language")
	}
}

// plain is the text of a page, without tags, and with one space for any number.
func plain(page string) string {
	page = regexp.MustCompile(`<wbr>`).ReplaceAllString(page, "")
	page = regexp.MustCompile(`<[^>]*>`).ReplaceAllString(page, " ")
	return strings.Join(strings.Fields(html.UnescapeString(page)), " ")
}

// holds reports whether a page has something in its text or in its tags.
func holds(page, want string) bool {
	return strings.Contains(page, want) || strings.Contains(plain(page), want)
}
