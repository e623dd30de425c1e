package apikey_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/apikey"
	"github.com/streamwatch/streamwatch/internal/testsize"
	"github.com/streamwatch/streamwatch/secret"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// watched counts the look-ups, and holds them up or fails them when told to.
type watched struct {
	apikey.Store
	finds atomic.Int64
	err   error
	after func() // called when a look-up has read
}

func (w *watched) Find(ctx context.Context, lookup string) (apikey.Key, error) {
	w.finds.Add(1)
	if w.err != nil {
		return apikey.Key{}, w.err
	}
	k, err := w.Store.Find(ctx, lookup)
	if w.after != nil {
		w.after()
	}
	return k, err
}

// pair is two managers on one store, as on two machines.
func pair(t *testing.T) (one, two *apikey.Manager, store *watched) {
	t.Helper()
	store = &watched{Store: memory.New(memory.Options{}).Keys()}
	for _, m := range []**apikey.Manager{&one, &two} {
		var err error
		if *m, err = apikey.NewManager(apikey.Config{Store: store}); err != nil {
			t.Fatal(err)
		}
	}
	return one, two, store
}

func issue(t *testing.T, m *apikey.Manager) apikey.Issued {
	t.Helper()
	k, err := m.Issue(t.Context(), apikey.IssueRequest{Owner: "acme", Name: "n"})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestRevocationReachesOtherManagersWithinASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one, two, store := pair(t)
		k := issue(t, one)
		for range 100 {
			if _, err := two.Authenticate(t.Context(), k.Secret); err != nil {
				t.Fatal(err)
			}
		}
		if n := store.finds.Load(); n != 1 {
			t.Errorf("%d look-ups for 100 requests in a moment, want 1", n)
		}
		if _, err := one.Revoke(t.Context(), "acme", k.ID); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Second)
		if _, err := two.Authenticate(t.Context(), k.Secret); !errors.Is(err, apikey.ErrInvalid) {
			t.Errorf("a second after the revocation by another manager: %v", err)
		}
	})
}

// There is a bound to the keys that are remembered. One more makes those go that
// are too old to be used, and all when none is.
func TestRememberedKeysAreBounded(t *testing.T) {
	const n = apikey.CacheSize
	for _, row := range []struct {
		name        string
		wait, again time.Duration // after the first half of the keys, and after the second
		forgotten   int64         // of the second half, when one more is looked up
	}{
		{"none is too old", 0, 0, n / 2},
		{"the first half is", apikey.CacheFor / 2, apikey.CacheFor / 2, 0},
		{"the first half nearly is", apikey.CacheFor / 2, apikey.CacheFor/2 - 1, n / 2},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				one, _, store := pair(t)
				keys := make([]secret.Value, n+1)
				for i := range keys {
					k, err := one.Issue(t.Context(), apikey.IssueRequest{Owner: fmt.Sprint("owner ", i), Name: "n"})
					if err != nil {
						t.Fatal(err)
					}
					keys[i] = k.Secret
				}
				use := func(keys []secret.Value, want int64) {
					t.Helper()
					before := store.finds.Load()
					for _, k := range keys {
						if _, err := one.Authenticate(t.Context(), k); err != nil {
							t.Fatal(err)
						}
					}
					if got := store.finds.Load() - before; got != want {
						t.Errorf("%d look-ups for %d keys, want %d", got, len(keys), want)
					}
				}
				use(keys[:n/2], n/2)
				<-time.After(row.wait)
				use(keys[n/2:n], n/2)
				use(keys[n/2:n], 0)
				<-time.After(row.again)
				use(keys[n:], 1)
				use(keys[n/2:n], row.forgotten)
			})
		})
	}
}

// A revocation that another manager has made already is one for this one, too.
func TestRevokedByAnotherManagerAndAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one, two, _ := pair(t)
		k := issue(t, one)
		if _, err := two.Authenticate(t.Context(), k.Secret); err != nil { // and remembers it
			t.Fatal(err)
		}
		for _, m := range []*apikey.Manager{one, two} {
			if _, err := m.Revoke(t.Context(), "acme", k.ID); err != nil {
				t.Fatal(err)
			}
			if _, err := m.Authenticate(t.Context(), k.Secret); !errors.Is(err, apikey.ErrInvalid) {
				t.Errorf("after the revocation: %v", err)
			}
		}
	})
}

// A look-up that read before a revocation must not be remembered after it.
func TestLookUpBesideARevocationIsNotRemembered(t *testing.T) {
	one, _, store := pair(t)
	k := issue(t, one)
	var once sync.Once
	store.after = func() {
		once.Do(func() {
			if _, err := one.Revoke(context.Background(), "acme", k.ID); err != nil {
				t.Error(err)
			}
		})
	}
	one.Authenticate(t.Context(), k.Secret) // began before: either answer is right
	if _, err := one.Authenticate(t.Context(), k.Secret); !errors.Is(err, apikey.ErrInvalid) {
		t.Errorf("after the revocation: %v", err)
	}
}

func TestStoreThatFailsIsNoInvalidKey(t *testing.T) {
	one, _, store := pair(t)
	k := issue(t, one)
	store.err = errors.New("store is down")
	if p, err := one.Authenticate(t.Context(), k.Secret); !errors.Is(err, store.err) || errors.Is(err, apikey.ErrInvalid) || p.Owner != "" {
		t.Errorf("Authenticate: %+v, %v", p, err)
	}
}

// Scanning with random keys costs the store nothing: the checksum tells.
func TestRandomKeysAreRefusedWithoutALookUp(t *testing.T) {
	one, _, store := pair(t)
	n := 100_000
	if testing.Short() || testsize.Race {
		n = 20_000
	}
	const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	rnd := rand.New(rand.NewPCG(1, 2))
	b := []byte("sw_live_" + strings.Repeat("0", 49))
	for range n {
		for i := 8; i < len(b); i++ {
			b[i] = digits[rnd.IntN(62)]
		}
		if _, err := one.Authenticate(t.Context(), secret.Value(b)); !errors.Is(err, apikey.ErrInvalid) {
			t.Fatalf("%s: %v", b, err)
		}
	}
	if got := store.finds.Load(); got > 1 { // one in 2³² passes
		t.Errorf("%d of %d random keys were looked up", got, n)
	}
}

// A checksum that is right makes no key of what has other characters than keys.
func TestKeysHaveDigitsAlone(t *testing.T) {
	one, _, store := pair(t)
	for _, body := range []string{strings.Repeat("-", 43), strings.Repeat("0", 42) + "\n", strings.Repeat("0", 41) + "é"} {
		k := "sw_live_" + body
		if _, err := one.Authenticate(t.Context(), secret.Value(k+apikey.Checksum(k))); !errors.Is(err, apikey.ErrInvalid) {
			t.Errorf("%q: %v", k, err)
		}
	}
	if got := store.finds.Load(); got != 0 {
		t.Errorf("%d were looked up, want none", got)
	}
}

// A key whose hash begins as another's does is not that key.
func TestTheWholeHashIsCompared(t *testing.T) {
	o := newOffice(t, nil)
	k := o.issue(t, nil)
	twin := k.Key
	if err := o.store.Delete(t.Context(), "acme", k.ID); err != nil {
		t.Fatal(err)
	}
	twin.ID, twin.Owner, twin.Hash = "twin", "globex", k.Hash[:16]+strings.Repeat("0", 48)
	if err := o.store.Create(t.Context(), twin); err != nil {
		t.Fatal(err)
	}
	if got := o.who(t, k.Secret); got != invalid {
		t.Errorf("the key was taken for that of %s", got)
	}
}

func TestAuthenticateConcurrently(t *testing.T) {
	one, two, _ := pair(t)
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			m := []*apikey.Manager{one, two}[i%2]
			k, err := m.Issue(t.Context(), apikey.IssueRequest{Owner: fmt.Sprint("owner ", i), Name: "n"})
			if err != nil {
				t.Error(err)
				return
			}
			for range 100 {
				if p, err := one.Authenticate(t.Context(), k.Secret); err != nil || p.KeyID != k.ID {
					t.Errorf("%+v, %v", p, err)
				}
			}
			if _, err := m.Revoke(t.Context(), k.Owner, k.ID); err != nil {
				t.Error(err)
			}
			if _, err := m.Authenticate(t.Context(), k.Secret); !errors.Is(err, apikey.ErrInvalid) {
				t.Errorf("after the revocation: %v", err)
			}
		})
	}
	wg.Wait()
}

func FuzzAuthenticate(f *testing.F) {
	m, err := apikey.NewManager(apikey.Config{Store: memory.New(memory.Options{}).Keys()})
	if err != nil {
		f.Fatal(err)
	}
	k, err := m.Issue(context.Background(), apikey.IssueRequest{Owner: "acme", Name: "n"})
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{"", "sw_live_", "sw_live_" + strings.Repeat("z", 49), string(k.Secret), "\xff\x00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		_, err := m.Authenticate(context.Background(), secret.Value(s))
		if (err == nil) != (s == string(k.Secret)) || err != nil && !errors.Is(err, apikey.ErrInvalid) {
			t.Errorf("%q: %v", s, err)
		}
	})
}
