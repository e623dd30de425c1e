package sqlite_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/apikey"
	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/endpoints"
	"github.com/streamwatch/streamwatch/enginehttp"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/internal/testsize"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/storage/sqlite"
)

func newEngine(t *testing.T, cfg streamwatch.Config) *streamwatch.Engine {
	t.Helper()
	cfg.Fetcher = enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"nasa"}})
	e, err := streamwatch.New(cfg)
	must(t, err)
	return e
}

// No file of the store has a secret in it, in whatever way it may be written.
func TestStoreHoldsNoPlainSecret(t *testing.T) {
	const canary1, canary2, canary3 = "canary-1-the-first-secret-of-all", "canary-2-the-second-secret-of-all", "canary-3-qzxwvk-plover"
	sealer, err := endpoints.NewAESSealer(endpoints.SealKey{ID: "k1", Key: deliver.Secret(base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("a"), 32)))})
	must(t, err)
	for name, s := range map[string]endpoints.Sealer{"sealed": sealer, "in plain, so that the search is known to find": nil} {
		t.Run(name, func(t *testing.T) {
			path := newFile(t)
			store, _ := openAt(t, path, sqlite.Options{})
			e := newEngine(t, streamwatch.Config{Store: store, Sealer: s})
			m, err := e.Monitors().Create(t.Context(), monitor.CreateRequest{Owner: "o", Name: "m", Usernames: []string{"nasa"}})
			must(t, err)
			hook, err := e.Endpoints().Create(t.Context(), endpoints.NewEndpoint{Source: deliver.Source{Kind: deliver.SourceMonitor, ID: m.ID, Owner: "o"},
				URL: "https://h.example.com/", Secret: canary1, Headers: []deliver.Header{{Name: "Authorization", Value: canary3}}})
			must(t, err)
			second := deliver.Secret(canary2)
			_, err = e.Endpoints().Update(t.Context(), "o", hook.ID, endpoints.Update{Secret: &second})
			must(t, err)
			generated, err := e.Endpoints().RotateSecret(t.Context(), "o", hook.ID)
			must(t, err)
			got, err := endpoints.NewStore(store.Ports().Records, s).Get(t.Context(), "o", hook.ID)
			if err != nil || got.Secret != generated.Secret || got.OldSecrets[1].Secret != canary1 || got.Headers[0].Value != canary3 {
				t.Errorf("Get: %v", err)
			}
			plain := func() (n int) {
				files, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*"))
				if err != nil || len(files) == 0 {
					t.Fatal(files, err)
				}
				for _, file := range files {
					data, err := os.ReadFile(file)
					must(t, err)
					for _, c := range []string{canary1, canary2, canary3, string(generated.Secret)} {
						for _, form := range []string{c, hex.EncodeToString([]byte(c)), base64.RawStdEncoding.EncodeToString([]byte(c)), c[len(c)/2:]} {
							if bytes.Contains(data, []byte(form)) {
								n++
							}
						}
					}
				}
				return n
			}
			found := plain() // with the log of the open store
			must(t, store.Close(context.Background()))
			if found += plain(); (found == 0) != (s != nil) {
				t.Errorf("%d plain secrets in the store's files", found)
			}
		})
	}
}

// leaver is the connection of a client that leaves during the answer.
type leaver struct{ *httptest.ResponseRecorder }

func (w leaver) Write(b []byte) (int, error) { return len(b) / 2, errors.New("write: broken pipe") }

// Exactly the requests are charged whose 2xx was written whole, also if many clients wait for
// the file's one writer, and some leave meanwhile. enginehttp's test of the same name has every
// other way in which requests end.
func TestChargesAreTheAnswersOf2xx(t *testing.T) {
	store, _ := open(t, sqlite.Options{})
	keys, err := apikey.NewManager(apikey.Config{Records: store.Ports().Records})
	must(t, err)
	handler, err := enginehttp.New(newEngine(t, streamwatch.Config{Store: store}), enginehttp.Options{Keys: keys, Auth: keys, Ledger: store.Ports().Ledger, RatePerMinute: 1_000_000})
	must(t, err)
	key, err := keys.Issue(t.Context(), apikey.IssueRequest{Owner: "o", Name: "k", Tier: "pro", Scope: apikey.ScopeAdmin})
	must(t, err)
	const workers = 64
	requests := testsize.Of(320, 640, 4_000)
	funds := billing.Credits(requests) * billing.Credit
	must(t, store.Ports().Ledger.Append(t.Context(), billing.Entry{ID: "funds", Owner: "o", Kind: billing.KindTopUp, Amount: funds}))
	var want atomic.Int64
	var wg sync.WaitGroup
	for worker := range workers {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(worker), 7))
			for range requests / workers {
				path := []string{"/v1/account/me", "/v1/social/twitter/stream/monitors", "/v1/social/twitter/stream/monitors/unknown"}[rng.IntN(3)]
				ctx, leave := context.WithCancel(t.Context())
				r := httptest.NewRequestWithContext(ctx, "GET", path, nil)
				r.Header.Set("X-Api-Key", string(key.Secret))
				rec := httptest.NewRecorder()
				switch rng.IntN(4) {
				case 0:
					leave()
					handler.ServeHTTP(rec, r)
				case 1:
					handler.ServeHTTP(leaver{rec}, r)
					rec.Code = 0
				default:
					handler.ServeHTTP(rec, r)
				}
				leave()
				if rec.Code/100 == 2 {
					want.Add(int64(billing.Credit))
				}
			}
		})
	}
	wg.Wait()
	b, err := store.Ports().Ledger.Balance(t.Context(), "o")
	must(t, err)
	if got := int64(funds - b.Available); got != want.Load() || got == 0 || b.Reserved != 0 {
		t.Errorf("charged %d, want %d; balance %+v", got, want.Load(), b)
	}
}
