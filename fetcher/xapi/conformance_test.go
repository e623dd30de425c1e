package xapi_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/fetchertest"
	"github.com/streamwatch/streamwatch/fetcher/xapi"
	"github.com/streamwatch/streamwatch/fetcher/xapi/xapitest"
)

func TestFetcher(t *testing.T) {
	fetchertest.TestFetcher(t, fetchertest.Kit{PageSize: 5, Open: open})
}

func open(t testing.TB) fetchertest.Upstream {
	x := xapitest.New(xapitest.Config{})
	server := httptest.NewServer(x)
	t.Cleanup(server.Close)
	accounts := []string{"ann", "bob", "cyd"}
	for _, a := range accounts {
		x.AddAccount(a)
	}
	ids := map[string]string{}
	return fetchertest.Upstream{
		New: func(t testing.TB) fetcher.Fetcher {
			f, err := xapi.New(xapi.Config{BaseURL: server.URL, Token: "token"})
			if err != nil {
				t.Fatal(err)
			}
			return f
		},
		Accounts: accounts,
		Post: func(account, text string, at time.Time) {
			ids[account+text] = x.Publish(account, xapitest.Post{Text: text, At: at})
		},
		Delete:  func(account, text string) { x.Delete(ids[account+text]) },
		Query:   func(account string) string { return "from:" + account },
		Missing: "nobody",
		Protect: func(account string) { x.SetProtected(account, true) },
		Unauthorized: func() {
			x.Instead(xapitest.Problem{Status: http.StatusUnauthorized, Title: "Unauthorized", Detail: "Unauthorized"})
		},
		Limit: func(wait time.Duration) {
			x.Instead(xapitest.Problem{Status: http.StatusTooManyRequests, Title: "Too Many Requests", RetryAfter: wait})
		},
		Garble: func() {
			x.Instead(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<html>busy</html>") }))
		},
		Stall: func() {
			x.Instead(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
		},
	}
}
