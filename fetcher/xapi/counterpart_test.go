package xapi_test

import (
	"context"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/xapi"
	"github.com/streamwatch/streamwatch/secret"
)

// TestPrism has Prism check the adapter's requests against X's OpenAPI document, whose
// path XAPI_OPENAPI is: https://api.x.com/2/openapi.json. It wants npm and node.
func TestPrism(t *testing.T) {
	doc := os.Getenv("XAPI_OPENAPI")
	if doc == "" {
		t.Skip("XAPI_OPENAPI is not set: want the path of X's OpenAPI document, to have Prism check the requests")
	}
	base := startPrism(t, doc)
	checked := &violations{t: t}
	x, err := xapi.New(xapi.Config{BaseURL: base, Token: "token", HTTP: &http.Client{Transport: checked, Timeout: 20 * time.Second},
		Expand: xapi.Expand{Authors: true, Posts: true, Media: true, Polls: true, Places: true}})
	if err != nil {
		t.Fatal(err)
	}
	list, err := xapi.NewListProbe(x, "84839422", 10)
	if err != nil {
		t.Fatal(err)
	}
	ctx, since := context.Background(), time.Now().Add(-5*time.Minute)
	accounts := []fetcher.Account{{UserID: "2244994945"}, {UserID: "12"}}
	// What the answers say is made up by Prism: only the requests count.
	_, _ = x.Timeline(ctx, fetcher.TimelineQuery{Username: "XDevelopers"})
	_, _ = x.Timeline(ctx, fetcher.TimelineQuery{UserID: "2244994945"})
	_, _ = x.Timeline(ctx, fetcher.TimelineQuery{UserID: "2244994945", Since: since})
	_, _ = x.Timeline(ctx, fetcher.TimelineQuery{UserID: "2244994945", Cursor: "x1~1346889436626259968~~~~~7140dibdnow9c7btw421dyz6jism75z99gyxd8egarsc4"})
	_, _ = x.Search(ctx, fetcher.SearchQuery{Query: `"moon landing" (from:nasa OR #artemis) -is:retweet`, Type: "Media"})
	_, _ = x.Search(ctx, fetcher.SearchQuery{Query: "moon", Type: "Top", Since: since, Cursor: "x1~1346889436626259968~~~~~b26v89c19zqg8o3fo7gesq"})
	_, _ = xapi.NewUsersProbe(x).Probe(ctx, accounts)
	_, _ = list.Probe(ctx, accounts)
	if n := checked.n; n < 8 {
		t.Errorf("%d requests were made, want one of each kind", n)
	}
}

// violations reports requests that are not answered with 200.
type violations struct {
	t  *testing.T
	mu sync.Mutex
	n  int
}

func (v *violations) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := http.DefaultTransport.RoundTrip(r)
	v.mu.Lock()
	defer v.mu.Unlock()
	v.n++
	switch {
	case err != nil:
		v.t.Errorf("%s: %v", r.URL, err)
	case resp.StatusCode != http.StatusOK || resp.Header.Get("sl-violations") != "":
		v.t.Errorf("%s: %s %s", r.URL, resp.Status, resp.Header.Get("sl-violations"))
	default:
		v.t.Logf("%s: %s", r.URL, resp.Status)
	}
	return resp, err
}

// startPrism runs Prism as a mock of a document, and returns where it listens.
func startPrism(t *testing.T, doc string) string {
	path, err := filepath.Abs(doc)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if out, err := exec.Command("npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", dir, "@stoplight/prism-cli@5.16.0").CombinedOutput(); err != nil {
		t.Fatalf("installing Prism: %v\n%s", err, out)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	_, port, _ := net.SplitHostPort(addr)
	var said strings.Builder
	prism := exec.Command("node", filepath.Join(dir, "node_modules/@stoplight/prism-cli/dist/index.js"), "mock", "--errors", "--port", port, path)
	prism.Stdout, prism.Stderr = &said, &said
	if err := prism.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- prism.Wait() }()
	t.Cleanup(func() {
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		prism.Process.Kill()
		<-ended
	})
	for deadline := time.After(time.Minute); ; {
		if c, err := net.Dial("tcp", addr); err == nil {
			c.Close()
			return "http://" + addr
		}
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("Prism ended: %v\n%s", err, said.String())
		case <-deadline:
			t.Fatal("Prism does not listen after a minute")
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// TestSimulator reads an account of a simulator of the API, such as xdevplatform's
// playground, or of X itself: XAPI_URL is where it is, XAPI_TOKEN its bearer token and
// XAPI_ACCOUNT the handle of an account that has posts.
func TestSimulator(t *testing.T) {
	base, token, account := os.Getenv("XAPI_URL"), os.Getenv("XAPI_TOKEN"), os.Getenv("XAPI_ACCOUNT")
	if base == "" || account == "" {
		t.Skip("XAPI_URL and XAPI_ACCOUNT are not set: want a simulator of X's API and an account of it")
	}
	if token == "" {
		token = "token"
	}
	t.Cleanup(http.DefaultTransport.(*http.Transport).CloseIdleConnections)
	x, err := xapi.New(xapi.Config{BaseURL: base, Token: secret.Value(token), HTTP: &http.Client{Transport: http.DefaultTransport, Timeout: 30 * time.Second}})
	if err != nil {
		t.Fatal(err)
	}
	page, err := x.Timeline(context.Background(), fetcher.TimelineQuery{Username: account})
	if err != nil {
		t.Fatal(err)
	}
	if len(page.Tweets) == 0 || page.UserID == "" {
		t.Fatalf("the page of %s has no posts: %+v", account, page)
	}
	for _, tw := range page.Tweets {
		t.Logf("%s %s %q", tw.PublishedAt, tw.ID, tw.Text)
		if tw.ID == "" || tw.PublishedAt.IsZero() || tw.UserID != page.UserID {
			t.Errorf("the post is %+v", tw)
		}
	}
	again, err := x.Timeline(context.Background(), fetcher.TimelineQuery{Username: account, UserID: page.UserID, Since: time.Now().Add(-time.Minute)})
	if err != nil || again.OldestAt.IsZero() {
		t.Errorf("what is newer than a minute: %+v, %v", again, err)
	}
}
