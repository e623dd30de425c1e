package chromium

import (
	"context"
	"flag"
	"fmt"
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
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

var pictures = flag.String("pictures", "", "directory to write pictures of each page to, none if empty")

// screenshot takes a picture of what the browser shows.
func screenshot(ctx context.Context, t *chromedp.Target) ([]byte, error) {
	quality := int64(80)
	shot, err := cdp.Call(ctx, t, cdppage.CaptureScreenshot, cdppage.CaptureScreenshotParams{Format: cdppage.CaptureScreenshotFormatWebp, Quality: &quality})
	return shot.Data, err
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
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatalf("%s: %v", script, err)
	}
	return v
}

// broken lists words that are broken although they are no longer than the screen is wide. Browsers
// hyphenate the texts of posts, and a name may end a line where the server has allowed it.
const broken = `(() => {
	const bad = [];
	const nodes = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
	for (let n; n = nodes.nextNode();) {
		if (!n.parentElement.checkVisibility({checkVisibilityCSS: true}) || n.parentElement.closest(".lines, pre, .away, svg, textarea")) continue;
		for (const word of n.data.matchAll(/[\p{Script=Latin}\p{N}]+/gu)) {
			const range = document.createRange();
			range.setStart(n, word.index);
			range.setEnd(n, word.index + word[0].length);
			const parts = [...range.getClientRects()].filter((r) => r.width > 0);
			if (new Set(parts.map((r) => Math.round(r.top))).size > 1 && parts.reduce((sum, r) => sum + r.width, 0) < 0.8 * innerWidth) bad.push(word[0]);
		}
	}
	return bad;
})()`

// spilled lists texts that are wider than the cell that they stand in.
const spilled = `[...document.querySelectorAll("tbody td, tbody th, dd")].filter((e) => e.checkVisibility() && e.scrollWidth > e.clientWidth + 1).map((e) => e.innerText)`

// tall lists the heights of rows that are too high for a small screen.
const tall = `[...document.querySelectorAll("table.cards tbody tr")].map((r) => r.getBoundingClientRect().height).filter((h) => h > 260)`

// axe returns the text of axe-core, or "" if it is not there: the stage console installs it.
func axe(t *testing.T) string {
	path := os.Getenv("STREAMWATCH_AXE")
	if path == "" {
		t.Log("SKIPPED: CONTRAST AND OTHER RULES OF ACCESSIBILITY: STREAMWATCH_AXE does not name axe.min.js; see .ci/stages")
		return ""
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// violations has axe-core check a page.
const violations = `axe.run(document, {runOnly: ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa"]}).then((r) => r.violations.map((v) => v.id + ": " + v.help + ": " + v.nodes.slice(0, 3).map((n) => n.html.slice(0, 200) + " " + n.failureSummary).join("; ")))`

// In a browser every page is shown without a complaint and without a request to another host, in the
// light and in the dark, on a wide screen and on one of 400 pixels, where nothing but tables is wider
// than the screen and no word is broken; keys reach every control; a button does what it says; events
// come live; and questions are answered in few clicks.
func TestConsole(t *testing.T) {
	c := &complaints{}
	d := newDemo(t)
	c.own = d.server.URL
	ctx := newBrowser(t, c)
	rules := axe(t)
	at := func(path string) string { return d.server.URL + "/console/" + path }
	for _, scheme := range []string{"light", "dark"} {
		if _, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}); err != nil {
			t.Fatal(err)
		}
		for _, width := range []int64{1200, 400} {
			for _, page := range d.pages(t) {
				what := fmt.Sprintf("%s, %s, %d wide", page.name, scheme, width)
				do(t, ctx, what, chromedp.EmulateViewport(width, 800), chromedp.Navigate(at(page.path)))
				if heading := evaluate[string](t, ctx, `document.querySelector("h1").textContent`); heading == "Not shown" {
					t.Errorf("%s: %s", what, evaluate[string](t, ctx, `document.querySelector("main").innerText`))
				}
				if over := evaluate[int](t, ctx, `document.documentElement.scrollWidth - document.documentElement.clientWidth`); over > 0 {
					t.Errorf("%s: %d pixels wider than the screen", what, over)
				}
				if words := evaluate[[]string](t, ctx, broken); len(words) > 0 {
					t.Errorf("%s: broken words: %q", what, words)
				}
				if cells := evaluate[[]string](t, ctx, spilled); len(cells) > 0 {
					t.Errorf("%s: wider than their cells: %q", what, cells)
				}
				if rows := evaluate[[]float64](t, ctx, tall); width == 400 && len(rows) > 0 {
					t.Errorf("%s: rows of %v pixels", what, rows)
				}
				for _, text := range c.take() {
					t.Errorf("%s: %s", what, text)
				}
				if rules != "" {
					evaluate[bool](t, ctx, rules+"\n;true")
					for _, text := range evaluate[[]string](t, ctx, violations) {
						t.Errorf("%s: %s", what, text)
					}
				}
				if *pictures != "" && (scheme == "light") == (width == 1200) {
					height := evaluate[int64](t, ctx, `Math.min(document.documentElement.scrollHeight, 3600)`)
					do(t, ctx, what, chromedp.EmulateViewport(width, max(height, 600)))
					shot, err := chromedp.Run(ctx, screenshot)
					if err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(filepath.Join(*pictures, fmt.Sprintf("%s-%s-%d.webp", page.name, scheme, width)), shot, 0o644); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
	}
	do(t, ctx, "resize", chromedp.EmulateViewport(1200, 800))
	endpoint := "endpoint?endpoint=" + d.failing
	t.Run("keys", func(t *testing.T) { testKeys(t, ctx, at(endpoint)) })
	t.Run("a button", func(t *testing.T) {
		do(t, ctx, "test", chromedp.Navigate(at(endpoint)), chromedp.Click(chromedp.CSS(`button[value="test"]`)), live(`document.querySelector('.said') !== null`))
		if said := evaluate[string](t, ctx, `document.querySelector('.said').textContent`); !strings.Contains(said, "was not accepted: 503") {
			t.Errorf("the button says %q", said)
		}
	})
	// Which customer's webhook fails, since when, why; resend it: three clicks.
	t.Run("a webhook fails", func(t *testing.T) {
		do(t, ctx, "now", chromedp.Navigate(at("")), chromedp.Click(chromedp.CSS(`.problems a[href="`+endpoint+`"]`)), live(`document.querySelector("#error") !== null`))
		page := evaluate[string](t, ctx, `document.querySelector("main").innerText`)
		for _, want := range []string{"newsroom-redaktion-europa", "failing for", "503", "Der Dienst ist vorübergehend nicht verfügbar", "What happens next"} {
			if !strings.Contains(page, want) {
				t.Errorf("the page lacks %q: %s", want, page)
			}
		}
		do(t, ctx, "resend", chromedp.Click(chromedp.CSS(`button[popovertarget="ask-recover"]`)), chromedp.Click(chromedp.CSS(`#ask-recover button[value="recover"]`)), live(`document.querySelector('.said.good') !== null`))
		if said := evaluate[string](t, ctx, `document.querySelector('.said').textContent`); !strings.Contains(said, "failed deliveries are sent again") {
			t.Errorf("the button says %q", said)
		}
	})
	// Is this account silent, or are we blind? The box, its name, and Enter.
	t.Run("an account is silent", func(t *testing.T) {
		do(t, ctx, "find", chromedp.Navigate(at("")), chromedp.Click(chromedp.CSS(`#everything`)), chromedp.KeyEvent(d.silent+kb.Enter), live(`document.querySelector("#facts") !== null`))
		if page := evaluate[string](t, ctx, `document.querySelector("main").innerText`); !strings.Contains(page, "silent for") || !strings.Contains(page, "the polls are well") {
			t.Errorf("the page does not say that it is silent: %s", page)
		}
	})
	t.Run("live", func(t *testing.T) {
		do(t, ctx, "the first page", chromedp.Navigate(at("")))
		do(t, ctx, "the tail", live(`document.querySelector("[data-tail-state]").textContent === "Live."`))
		d.post("just now, while somebody looks")
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
	want := evaluate[[]string](t, ctx, `[...document.querySelectorAll("a[href], button, input:not([type=hidden]), select, textarea")].filter((e) => e.checkVisibility() && !e.disabled).map((e) => e.tagName + " " + (e.getAttribute("href") || e.name || "") + " " + (e.value || e.textContent).trim())`)
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
