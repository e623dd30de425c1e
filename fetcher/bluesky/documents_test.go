package bluesky

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	alice = "did:plc:alice2222222222222222222"
	bob   = "did:plc:bob222222222222222222222"
)

// postedAt is the moment the documents below are about, and now the one at
// which servers answer.
var (
	postedAt = time.Date(2025, time.March, 1, 12, 0, 0, 123456000, time.UTC)
	now      = postedAt.Truncate(time.Second).Add(time.Minute)
)

func postURI(did string, at time.Time) string {
	return "at://" + did + "/app.bsky.feed.post/" + tidAt(at)
}

func repostURI(did string, at time.Time) string {
	return "at://" + did + "/app.bsky.feed.repost/" + tidAt(at)
}

func stampOf(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// doc fills a document's marks: ALICE and BOB, POST and ORIGINAL (Alice's and
// Bob's post), REPOST (of the second by the first), and the times AT, INDEXED.
func doc(s string) string {
	original := postURI(bob, postedAt.Add(-time.Hour))
	return strings.NewReplacer(
		"ALICE", alice, "BOB", bob,
		"REPOST", repostURI(alice, postedAt), "POST", postURI(alice, postedAt), "ORIGINAL", original,
		"INDEXED", stampOf(postedAt.Add(time.Second)), "AT", stampOf(postedAt),
	).Replace(s)
}

// aliceView is her profileViewBasic, and post a postView of hers with a record
// and further members.
const aliceView = `{"did":"ALICE","handle":"alice.example.com","displayName":"Alice"}`

func post(record, more string) string {
	return `{"post":{"$type":"app.bsky.feed.defs#postView","uri":"POST","cid":"bafyreipost","author":` + aliceView +
		`,"record":{"$type":"app.bsky.feed.post","createdAt":"AT",` + record + `},"indexedAt":"INDEXED"` + more + `}}`
}

func feed(items ...string) string { return `{"feed":[` + strings.Join(items, ",") + `]}` }

// platform is an XRPC server that answers each method from a function.
type platform struct {
	*httptest.Server
	mu    sync.Mutex
	calls []string
}

type answers map[string]func(q url.Values) (status int, body string)

func body(s string) func(url.Values) (int, string) {
	return func(url.Values) (int, string) { return http.StatusOK, s }
}

func failure(status int, name, message string) func(url.Values) (int, string) {
	return func(url.Values) (int, string) {
		return status, fmt.Sprintf(`{"error":%q,"message":%q}`, name, message)
	}
}

func serve(t testing.TB, a answers) *platform {
	t.Helper()
	p := &platform{}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		method := strings.TrimPrefix(r.URL.Path, "/xrpc/")
		p.mu.Lock()
		p.calls = append(p.calls, method+"?"+r.URL.RawQuery)
		p.mu.Unlock()
		answer, ok := a[method]
		if !ok {
			http.NotFound(w, r)
			return
		}
		status, text := answer(r.URL.Query())
		h := w.Header()
		h.Set("Content-Type", "application/json")
		h.Set("Date", now.Format(http.TimeFormat))
		h.Set("RateLimit-Limit", "3000")
		h.Set("RateLimit-Remaining", "2999")
		h.Set("RateLimit-Reset", fmt.Sprint(now.Add(5*time.Minute).Unix()))
		w.WriteHeader(status)
		_, _ = w.Write([]byte(text))
	}))
	t.Cleanup(p.Close)
	return p
}

// taken gives the calls since the last time.
func (p *platform) taken() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	calls := p.calls
	p.calls = nil
	return calls
}

// open makes a Fetcher on the platform's clock: an AppView's, or a PDS's.
func (p *platform) open(t testing.TB, pds bool) *Fetcher {
	t.Helper()
	cfg := Config{BaseURL: p.URL, Now: func() time.Time { return now }}
	if pds {
		cfg.BaseURL, cfg.PDS = "", p.URL
	}
	f, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return f
}
