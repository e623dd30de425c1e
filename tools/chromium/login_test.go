package chromium

import (
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/apikey"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/engineui"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// Over plain HTTP, on a host that is not this machine's by name, a browser logs in and out.
func TestLoginOverPlainHTTP(t *testing.T) {
	store := memory.New(memory.Options{})
	e, err := streamwatch.New(streamwatch.Config{Fetcher: enginetest.NewPlatform(enginetest.PlatformConfig{}), Store: store})
	if err != nil {
		t.Fatal(err)
	}
	keys, err := apikey.NewManager(apikey.Config{Records: store.Ports().Records})
	if err != nil {
		t.Fatal(err)
	}
	key, err := keys.Issue(t.Context(), apikey.IssueRequest{Owner: "acme", Name: "console", Scope: apikey.ScopeWrite})
	if err != nil {
		t.Fatal(err)
	}
	console, err := engineui.New(engineui.Config{Engine: e, Login: &engineui.KeyLogin{Auth: keys}})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(console)
	t.Cleanup(func() {
		console.Close()
		server.CloseClientConnections()
		server.Close()
		if err := store.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
	at, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	site := "http://console.test:" + at.Port() + "/"
	ctx := newBrowser(t, &complaints{own: site}, chromedp.Flag("host-resolver-rules", "MAP console.test 127.0.0.1"))
	do(t, ctx, "the form", chromedp.EmulateViewport(1200, 800), chromedp.Navigate(site+"login")) // the column at the side has the button
	evaluate[bool](t, ctx, `(document.querySelector('[name="key"]').value = "`+string(key.Secret)+`", true)`)
	do(t, ctx, "log in", chromedp.Click(chromedp.CSS(`main button`)), live(`document.querySelector("h1") !== null && document.querySelector('[name="key"]') === null`))
	if page := evaluate[string](t, ctx, `document.body.innerText`); evaluate[string](t, ctx, `location.pathname`) != "/" {
		t.Fatalf("the login leads to %s", page)
	}
	do(t, ctx, "log out", chromedp.Click(chromedp.CSS(`form.who button`)), live(`document.querySelector('[name="key"]') !== null`))
}
