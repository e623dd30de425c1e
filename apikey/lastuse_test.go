package apikey_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/apikey"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// The last use of a key is stored, to a minute or so, while Run runs. No request waits for it.
func TestLastUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls, broken, hung := 0, false, make(chan struct{})
		r := &records{Store: memory.New(memory.Options{}).Ports().Records}
		m := manager(t, apikey.Config{Records: r})
		used, idle := issue(t, m), issue(t, m)
		r.before = func() error {
			if calls++; broken {
				<-hung
				return errors.New("broken")
			}
			return nil
		}
		ctx, stop := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { m.Run(ctx) })
		defer wg.Wait()
		defer stop()
		begun := time.Now()
		at := func(d time.Duration) {
			<-time.After(time.Until(begun.Add(d + time.Millisecond)))
			synctest.Wait()
		}
		want := func(text string, last time.Duration, n int) {
			t.Helper()
			keys := list(t, m)
			if got := keys[0].LastUsedAt; !got.Equal(begun.Add(last).Truncate(time.Second)) || !keys[1].LastUsedAt.IsZero() || calls != n {
				t.Errorf("%s: last used %s after the beginning, %d calls, want %s and %d; the idle key %s", text, got.Sub(begun), calls, last, n, keys[1].LastUsedAt)
			}
		}
		wantInvalid(t, m, idle.Secret[:20]+"0"+idle.Secret[21:], "a key that is none")
		if k := list(t, m)[0]; !k.LastUsedAt.IsZero() {
			t.Errorf("a new key: last used %s", k.LastUsedAt)
		}
		for s := range 49 {
			at(time.Duration(s) * time.Second)
			wantValid(t, m, used.Secret)
		}
		at(59 * time.Second)
		want("many uses in a minute", 0, 1)
		at(65 * time.Second)
		wantValid(t, m, used.Secret)
		at(70 * time.Second)
		want("a minute later", 65*time.Second, 2)

		at(130 * time.Second)
		broken = true
		wantValid(t, m, used.Secret)
		at(141 * time.Second) // the store hangs
		wantValid(t, m, used.Secret)
		close(hung)
		at(145 * time.Second)
		broken = false
		want("the store is broken", 65*time.Second, 3)
		wantValid(t, m, used.Secret)
		at(150 * time.Second)
		want("the store is mended", 141*time.Second, 4)

		revoke(t, m, used.ID)
		at(240 * time.Second)
		wantInvalid(t, m, used.Secret, "revoked")
		at(250 * time.Second)
		want("revoked", 141*time.Second, 5)
	})
}
