package apikey_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/apikey"
	"github.com/streamwatch/streamwatch/secret"
	"github.com/streamwatch/streamwatch/storage/memory"
	"github.com/streamwatch/streamwatch/storage/storetest"
)

// Whatever is wrong with a key, the answer is the same. One without the form of a key is refused
// without a look-up.
func TestInvalidKeys(t *testing.T) {
	o := newOffice(t, 0)
	good, revoked := issue(t, o.Manager), issue(t, o.Manager)
	revoke(t, o.Manager, revoked.ID)
	expired, err := o.Issue(t.Context(), apikey.IssueRequest{Owner: "acme", Name: "n", ExpiresAt: o.clock.Now().Add(time.Hour)})
	must(t, err)
	o.clock.Advance(time.Hour - 1)
	wantValid(t, o.other, expired.Secret)
	o.clock.Advance(1)
	for text, k := range map[string]secret.Value{"unknown": issue(t, newOffice(t, 0).Manager).Secret, "revoked": revoked.Secret, "expired": expired.Secret} {
		wantInvalid(t, o.Manager, k, text)
	}
	if n := o.records.finds.Load(); n != 3 {
		t.Errorf("%d look-ups of 3 keys", n)
	}

	key := string(good.Secret)
	malformed := []string{"", good.Prefix, key[:len(key)-1], key + "0", " " + key, "sw_test_" + key[8:], strings.ToLower(key), good.Hash,
		key[:20] + string(key[20]^1) + key[21:], strings.Repeat("a", 1<<20), "sw_live_" + strings.Repeat("z", 49)}
	for _, body := range []string{strings.Repeat("-", 43), strings.Repeat("0", 42) + "\n", strings.Repeat("0", 41) + "é"} {
		malformed = append(malformed, "sw_live_"+body+apikey.Checksum("sw_live_"+body))
	}
	for _, k := range malformed {
		wantInvalid(t, o.Manager, secret.Value(k), fmt.Sprintf("%.60q", k))
	}
	if n := o.records.finds.Load(); n != 3 {
		t.Errorf("%d malformed keys were looked up", n-3)
	}
	wantValid(t, o.Manager, good.Secret)
}

// A key whose hash begins like another's is not that key.
func TestTheWholeHashIsCompared(t *testing.T) {
	o := newOffice(t, 0)
	k := issue(t, o.Manager)
	must(t, o.Delete(t.Context(), "acme", k.ID))
	put(t, o, apikey.Key{ID: "twin", Owner: "globex", Hash: k.Hash[:16] + strings.Repeat("0", 48)})
	wantInvalid(t, o.Manager, k.Secret, "a key with the hash of another")
}

func TestAuthenticateWhenTheStoreFails(t *testing.T) {
	store := memory.New(memory.Options{})
	k := issue(t, manager(t, apikey.Config{Records: store.Ports().Records}))
	m := manager(t, apikey.Config{Records: storetest.FaultyStore(store, storetest.FaultPlan{}).Ports().Records})
	if p, err := m.Authenticate(t.Context(), k.Secret); !errors.Is(err, storetest.ErrStoreFault) || errors.Is(err, apikey.ErrInvalid) || p.Owner != "" {
		t.Errorf("Authenticate: %+v, %v, want the store's error", p, err)
	}
}

func TestRevocationReachesOtherManagersWithinASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t, 0)
		k := issue(t, o.other)
		for range 100 {
			wantValid(t, o.Manager, k.Secret)
		}
		if n := o.records.finds.Load(); n != 1 {
			t.Errorf("%d look-ups for 100 requests in a moment, want 1", n)
		}
		revoke(t, o.other, k.ID)
		<-time.After(apikey.RevokedWithin)
		wantInvalid(t, o.Manager, k.Secret, "a second after the revocation")
	})
}

// A look-up that read before a revocation is not cached after it.
func TestLookUpBesideARevocation(t *testing.T) {
	o := newOffice(t, 0)
	k := issue(t, o.Manager)
	o.records.found = sync.OnceFunc(func() { revoke(t, o.Manager, k.ID) })
	o.Authenticate(t.Context(), k.Secret) // began before: either answer is right
	wantInvalid(t, o.Manager, k.Secret, "after the revocation")
}

// One key more than the cache has room for drops those that are too old to be used, or all if
// there are none.
func TestTheCacheIsBounded(t *testing.T) {
	const n = apikey.CacheSize
	o := newOffice(t, 0)
	keys := make([]secret.Value, n+1)
	for i := range keys {
		k, err := o.Issue(t.Context(), apikey.IssueRequest{Owner: fmt.Sprint("owner ", i), Name: "n"})
		must(t, err)
		keys[i] = k.Secret
	}
	for name, row := range map[string]struct {
		wait, again time.Duration // after the first half of the keys, and after the second
		dropped     int64         // of the second half, when one more is looked up
	}{
		"none is too old":           {0, 0, n / 2},
		"the first half is":         {apikey.RevokedWithin / 2, apikey.RevokedWithin / 2, 0},
		"the first half is, nearly": {apikey.RevokedWithin / 2, apikey.RevokedWithin/2 - 1, n / 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &records{Store: o.records.Store}
				m := manager(t, apikey.Config{Records: store})
				use := func(keys []secret.Value, want int64) {
					t.Helper()
					before := store.finds.Load()
					for _, k := range keys {
						wantValid(t, m, k)
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
				use(keys[n/2:n], row.dropped)
			})
		})
	}
}

func FuzzAuthenticate(f *testing.F) {
	m := manager(f, apikey.Config{Records: memory.New(memory.Options{}).Ports().Records})
	k := issue(f, m)
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
