package chromium

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver/webhook"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/engineui"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// shown are the pictures that are made: one of each page.
var shown = []string{"now-light-1200", "sources-light-1200", "fleet-light-1200", "credits-light-1200", "failing-dark-1200", "account-light-1200",
	"endpoints-dark-1200", "endpoint-dark-400", "events-light-1200", "event-light-1200", "rules-dark-400"}

var pictures = flag.String("pictures", "", "directory to write a picture of each page to, none if empty")

// demo is an engine with a fake platform, and its console on a socket of this machine.
type demo struct {
	platform *enginetest.Platform
	engine   *streamwatch.Engine
	server   *httptest.Server
	endpoint string
}

func newDemo(t *testing.T) *demo {
	names := enginetest.AccountNames(12)
	d := &demo{platform: enginetest.NewPlatform(enginetest.PlatformConfig{Seed: 1, Accounts: names})}
	hook := enginetest.NewReceiver(enginetest.ReceiverConfig{})
	store := memory.New(memory.Options{})
	var err error
	d.engine, err = streamwatch.New(streamwatch.Config{Fetcher: d.platform, Store: store, Webhook: webhook.Config{Transport: hook.RoundTripper()},
		Billing: &billing.MeterConfig{}, Fleet: &streamwatch.FleetConfig{Name: "node-1", Lease: time.Second}})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Ports().Ledger.Append(t.Context(), billing.Entry{ID: "grant", Kind: billing.KindTopUp, Amount: 100_000 * billing.Credit, At: time.Now()}); err != nil {
		t.Fatal(err)
	}
	if err := d.engine.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := d.engine.Monitors().Create(t.Context(), monitor.CreateRequest{Name: "space", Usernames: names, PollInterval: time.Second, WebhookURL: "https://hooks.example.com/posts"}); err != nil {
		t.Fatal(err)
	}
	if _, err := d.engine.Rules().Create(t.Context(), rule.CreateRequest{Tag: "launches", Query: "from:" + names[0] + " post", Interval: time.Minute}); err != nil {
		t.Fatal(err)
	}
	hooks, err := d.engine.Endpoints().List(t.Context(), "", "")
	if err != nil || len(hooks) != 1 {
		t.Fatal(hooks, err)
	}
	d.endpoint = hooks[0].ID
	console, err := engineui.New(engineui.Config{Engine: d.engine, Ledger: store.Ports().Ledger, Authorize: engineui.AllowLoopback})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/console/", console)
	mux.HandleFunc("/favicon.ico", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	d.server = httptest.NewServer(mux)
	t.Cleanup(func() {
		console.Close()
		d.server.CloseClientConnections()
		d.server.Close()
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := errors.Join(d.engine.Shutdown(ctx), store.Close(ctx)); err != nil {
			t.Error(err)
		}
	})
	for n, name := range names {
		for range n % 4 {
			d.platform.Post(name, "a post of "+name+" with words enough to need a second line on a small screen")
		}
	}
	d.platform.SetProtected(names[11], true)
	return d
}

// events waits for the first event.
func (d *demo) events(t *testing.T) {
	for ctx := t.Context(); ; {
		if list, err := d.engine.Log().Events(ctx, "", 0, 1); err != nil {
			t.Fatal(err)
		} else if len(list) > 0 {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatal("no event")
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// complaints are what the browser has to say against pages.
type complaints struct {
	mu   sync.Mutex
	list []string
	own  string // what addresses may begin with
}

func (c *complaints) note(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = append(c.list, text)
}

// take returns them, and begins anew.
func (c *complaints) take() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := c.list
	c.list = nil
	return list
}

func (c *complaints) hear(ev any) {
	switch ev := ev.(type) {
	case *log.EventEntryAdded: // violations of the policy are among these
		c.note(fmt.Sprintf("log: %+v", *ev.Entry))
	case *runtime.EventExceptionThrown:
		c.note(fmt.Sprintf("exception: %+v", *ev.ExceptionDetails))
	case *runtime.EventConsoleAPICalled:
		c.note(fmt.Sprintf("console: %s", ev.Type))
	case *network.EventRequestWillBeSent:
		if !strings.HasPrefix(ev.Request.URL, c.own) && !strings.HasPrefix(ev.Request.URL, "about:") {
			c.note("request to " + ev.Request.URL)
		}
	}
}

// newBrowser starts Chromium with an empty profile.
func newBrowser(t *testing.T, c *complaints, more ...chromedp.ExecAllocatorOption) context.Context {
	path, err := exec.LookPath("chromium")
	if err != nil {
		if os.Getenv("STREAMWATCH_REQUIRE_CHROMIUM") != "" {
			t.Fatal(err)
		}
		t.Skip("SKIPPED: this test needs chromium: ", err)
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(t.TempDir()),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true))
	options = append(options, more...)
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, cancel := chromedp.NewContext(allocator)
	t.Cleanup(func() {
		if err := chromedp.Cancel(ctx); err != nil {
			t.Log("the browser's end: ", err)
		}
		cancel()
		stop()
	})
	if err := chromedp.Listen(ctx, c.hear); err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.Call(ctx, log.Enable, cdp.Empty{}); err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.Call(ctx, network.Enable, network.EnableParams{}); err != nil {
		t.Fatal(err)
	}
	return ctx
}

// do carries out steps, for a minute at most.
func do(t *testing.T, ctx context.Context, what string, steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

func evaluate[T any](t *testing.T, ctx context.Context, script string) T {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](script))
	if err != nil {
		t.Fatalf("%s: %v", script, err)
	}
	return v
}

// In a browser every page is shown without a complaint and without a request to another
// host, in the light and in the dark, on a wide screen and on one of 400 pixels, where
// nothing but tables is wider than the screen; keys reach every control; a button does
// what it says; and events come live.
func TestConsole(t *testing.T) {
	c := &complaints{}
	d := newDemo(t)
	c.own = d.server.URL
	ctx := newBrowser(t, c)
	d.events(t)
	at := func(path string) string { return d.server.URL + "/console/" + path }
	account := "account?account=" + url.QueryEscape(enginetest.AccountNames(12)[3])
	pages := map[string]string{"now": "", "sources": "sources", "fleet": "fleet", "credits": "credits", "accounts": "accounts?by=slow", "failing": "accounts", "account": account,
		"endpoints": "endpoints", "endpoint": "endpoint?endpoint=" + d.endpoint, "events": "events", "event": "event?seq=1", "rules": "rules?query=post+-words"}
	for _, scheme := range []string{"light", "dark"} {
		if _, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}); err != nil {
			t.Fatal(err)
		}
		for _, width := range []int64{1200, 400} {
			do(t, ctx, "resize", chromedp.EmulateViewport(width, 800))
			for name, path := range pages {
				what := fmt.Sprintf("%s, %s, %d wide", name, scheme, width)
				do(t, ctx, what, chromedp.Navigate(at(path)))
				if heading := evaluate[string](t, ctx, `document.querySelector("h1").textContent`); heading == "Not shown" {
					t.Errorf("%s: %s", what, evaluate[string](t, ctx, `document.querySelector("main").innerText`))
				}
				if over := evaluate[int](t, ctx, `document.documentElement.scrollWidth - document.documentElement.clientWidth`); over > 0 {
					t.Errorf("%s: %d pixels wider than the screen", what, over)
				}
				for _, text := range c.take() {
					t.Errorf("%s: %s", what, text)
				}
				if *pictures != "" && slices.Contains(shown, fmt.Sprintf("%s-%s-%d", name, scheme, width)) {
					shot, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
					if err != nil {
						t.Fatal(err)
					}
					file := filepath.Join(*pictures, fmt.Sprintf("%s-%s-%d.png", name, scheme, width))
					if err := os.WriteFile(file, shot, 0o644); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
	}
	do(t, ctx, "resize", chromedp.EmulateViewport(1200, 800))
	t.Run("keys", func(t *testing.T) { testKeys(t, ctx, at("endpoint?endpoint="+d.endpoint)) })
	t.Run("a button", func(t *testing.T) {
		do(t, ctx, "test", chromedp.Navigate(at("endpoint?endpoint="+d.endpoint)), chromedp.Click(chromedp.CSS(`button[value="test"]`)), live(`document.querySelector('p[role="status"]') !== null`))
		if said := evaluate[string](t, ctx, `document.querySelector('p[role="status"]').textContent`); !strings.Contains(said, "accepted with the status 200") {
			t.Errorf("the button says %q", said)
		}
	})
	t.Run("live", func(t *testing.T) {
		do(t, ctx, "the first page", chromedp.Navigate(at("")))
		do(t, ctx, "the tail", live(`document.querySelector("[data-tail-state]").textContent === "Live."`))
		d.platform.Post(enginetest.AccountNames(12)[0], "just now, while somebody looks")
		do(t, ctx, "the row", live(`document.querySelector("[data-tail-rows]").textContent.includes("while somebody looks")`))
	})
	for _, text := range c.take() {
		t.Error(text)
	}
}

// live waits until an expression holds, on this page or one that it leads to.
func live(expression string) chromedp.Action[chromedp.Void] {
	return func(ctx context.Context, tab *chromedp.Target) (chromedp.Void, error) {
		for {
			// While a page follows another there is nothing to evaluate in.
			if holds, err := chromedp.Evaluate[bool](expression)(ctx, tab); err == nil && holds {
				return chromedp.Void{}, nil
			}
			select {
			case <-ctx.Done():
				return chromedp.Void{}, fmt.Errorf("%s does not hold: %w", expression, ctx.Err())
			case <-time.After(50 * time.Millisecond):
			}
		}
	}
}

// testKeys walks over a page with Tab, and follows its first link but one with Enter.
func testKeys(t *testing.T, ctx context.Context, page string) {
	const focused = `((e) => e.tagName + " " + (e.getAttribute("href") || e.name || "") + " " + (e.value || e.textContent).trim())(document.activeElement)`
	do(t, ctx, "the page", chromedp.Navigate(page))
	want := evaluate[[]string](t, ctx, `[...document.querySelectorAll("a[href], button, input:not([type=hidden]), select, textarea")].map((e) => e.tagName + " " + (e.getAttribute("href") || e.name || "") + " " + (e.value || e.textContent).trim())`)
	var got []string
	for range len(want) + 3 {
		do(t, ctx, "Tab", chromedp.KeyEvent(kb.Tab))
		got = append(got, evaluate[string](t, ctx, focused))
	}
	for _, control := range want {
		if !slices.Contains(got, control) {
			t.Errorf("Tab does not reach %q; it reaches %q", control, got)
		}
	}
	do(t, ctx, "the page again", chromedp.Navigate(page))
	for range len(want) {
		do(t, ctx, "Tab", chromedp.KeyEvent(kb.Tab))
		if strings.HasPrefix(evaluate[string](t, ctx, focused), "A accounts ") {
			break
		}
	}
	do(t, ctx, "Enter", chromedp.KeyEvent(kb.Enter), live(`document.querySelector("h1")?.textContent === "Accounts"`))
}
