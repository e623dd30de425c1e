package bluesky_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/bluesky"
	"github.com/streamwatch/streamwatch/fetcher/fetchertest"
)

// The adapter on an AppView and on a PDS.
func TestFetcher(t *testing.T) {
	for _, pds := range []bool{false, true} {
		t.Run("PDS "+strconv.FormatBool(pds), func(t *testing.T) {
			fetchertest.TestFetcher(t, fetchertest.Kit{PageSize: 8, Open: func(t testing.TB) fetchertest.Upstream { return open(t, pds) }})
		})
	}
}

// network is an AppView and a PDS with the same posts, newest first.
type network struct {
	mu      sync.Mutex
	posts   []networkPost
	private map[string]bool                                // by DID
	instead func(w http.ResponseWriter, req *http.Request) // of every answer
}

type networkPost struct {
	did, key, text string
	at             time.Time
}

func open(t testing.TB, pds bool) fetchertest.Upstream {
	n := &network{private: map[string]bool{}}
	server := httptest.NewServer(n)
	t.Cleanup(server.Close)
	return fetchertest.Upstream{
		New: func(t testing.TB) fetcher.Fetcher {
			cfg := bluesky.Config{BaseURL: server.URL, PageSize: 8}
			if pds {
				cfg.BaseURL, cfg.PDS = "", server.URL
			}
			f, err := bluesky.New(cfg)
			if err != nil {
				t.Fatal(err)
			}
			return f
		},
		Accounts: []string{"ann.example.com", "bob.example.com", "cyd.example.com"},
		Post:     n.post,
		Delete:   n.remove,
		Missing:  "nobody.example.com",
		Protect: func(account string) {
			n.mu.Lock()
			defer n.mu.Unlock()
			n.private[didOf(account)] = true
		},
		Unauthorized: func() { n.answer(refusal(http.StatusUnauthorized, "AuthMissing", "")) },
		Limit: func(wait time.Duration) {
			n.answer(refusal(http.StatusTooManyRequests, "RateLimitExceeded", strconv.Itoa(int(wait.Seconds()))))
		},
		Garble: func() {
			n.answer(func(w http.ResponseWriter, _ *http.Request) {
				io.WriteString(w, "<html><body>Just a moment</body></html>")
			})
		},
		Stall: func() { n.answer(func(_ http.ResponseWriter, req *http.Request) { <-req.Context().Done() }) },
	}
}

func didOf(handle string) string { return "did:plc:" + strings.TrimSuffix(handle, ".example.com") }

func refusal(status int, name, retryAfter string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if retryAfter != "" {
			w.Header().Set("Retry-After", retryAfter)
		}
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"error":%q,"message":"refused"}`, name)
	}
}

func (n *network) answer(with http.HandlerFunc) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.instead = with
}

// post makes a record. Its key's last ten bits tell records of one moment apart.
func (n *network) post(account, text string, at time.Time) {
	const digits = "234567abcdefghijklmnopqrstuvwxyz"
	n.mu.Lock()
	defer n.mu.Unlock()
	i := len(n.posts)
	key := timestampID(at)[:11] + string(digits[i/32%32]) + string(digits[i%32])
	n.posts = append(n.posts, networkPost{didOf(account), key, text, at})
	slices.SortFunc(n.posts, func(a, b networkPost) int { return cmp.Compare(b.key, a.key) })
}

func (n *network) remove(account, text string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.posts = slices.DeleteFunc(n.posts, func(p networkPost) bool { return p.did == didOf(account) && p.text == text })
}

func (n *network) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	n.mu.Lock()
	instead := n.instead
	n.mu.Unlock()
	if instead != nil {
		instead(w, req)
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	q := req.URL.Query()
	did := cmp.Or(q.Get("actor"), q.Get("repo"))
	method := strings.TrimPrefix(req.URL.Path, "/xrpc/")
	switch {
	case method == "com.atproto.identity.resolveHandle" && q.Get("handle") == "nobody.example.com":
		refusal(http.StatusBadRequest, "InvalidRequest", "")(w, req)
	case method == "com.atproto.identity.resolveHandle":
		json.NewEncoder(w).Encode(map[string]string{"did": didOf(q.Get("handle"))})
	case n.private[did]:
		refusal(http.StatusBadRequest, "AccountDeactivated", "")(w, req)
	case method == "app.bsky.feed.getAuthorFeed":
		n.list(w, "feed", did, q.Get("cursor"), q.Get("limit"), func(p networkPost) any {
			return map[string]any{"post": map[string]any{"uri": p.uri(), "indexedAt": p.stamp(), "record": p.record(),
				"author": map[string]string{"did": did, "handle": strings.TrimPrefix(did, "did:plc:") + ".example.com"}}}
		})
	case method == "com.atproto.repo.listRecords" && q.Get("collection") == "app.bsky.feed.post":
		n.list(w, "records", did, q.Get("cursor"), q.Get("limit"), func(p networkPost) any {
			return map[string]any{"uri": p.uri(), "value": p.record()}
		})
	case method == "com.atproto.repo.listRecords":
		io.WriteString(w, `{"records":[]}`)
	default:
		http.NotFound(w, req)
	}
}

// list writes the posts of an account below the key that the cursor is.
func (n *network) list(w io.Writer, name, did, cursor, limit string, show func(networkPost) any) {
	most, _ := strconv.Atoi(limit)
	items := []any{}
	answer := map[string]any{}
	for _, p := range n.posts {
		if p.did != did || cursor != "" && p.key >= cursor {
			continue
		}
		if len(items) == most {
			break
		}
		items = append(items, show(p))
		answer["cursor"] = p.key
	}
	answer[name] = items
	json.NewEncoder(w).Encode(answer)
}

func (p networkPost) uri() string { return "at://" + p.did + "/app.bsky.feed.post/" + p.key }

func (p networkPost) stamp() string { return p.at.UTC().Format("2006-01-02T15:04:05.000Z") }

func (p networkPost) record() any {
	return map[string]string{"$type": "app.bsky.feed.post", "text": p.text, "createdAt": p.stamp()}
}
