package mastodon

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/fetchertest"
)

func TestProberSuite(t *testing.T) {
	fetchertest.TestProber(t, fetchertest.ProbeKit{Open: func(testing.TB) fetchertest.ProbeUpstream {
		var mu sync.Mutex
		counts := map[string]int{"7": 0, "8": 0, "9": 0}
		s := newServer(t, map[string]http.HandlerFunc{accountsPath: func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			var listed []string
			for id, n := range counts {
				if slices.Contains(r.URL.Query()["id[]"], id) {
					listed = append(listed, fmt.Sprintf(`{"id":%q,"statuses_count":%d}`, id, n))
				}
			}
			fmt.Fprint(w, "["+strings.Join(listed, ",")+"]")
		}})
		return fetchertest.ProbeUpstream{
			Prober:   s.fetcher(t, nil),
			Accounts: []fetcher.Account{{Username: "ann", UserID: "7"}, {Username: "bob", UserID: "8"}, {Username: "cyd", UserID: "9"}},
			Missing:  fetcher.Account{Username: "nobody", UserID: "10"},
			Post: func(a fetcher.Account) {
				mu.Lock()
				defer mu.Unlock()
				counts[a.UserID]++
			},
		}
	}})
}
