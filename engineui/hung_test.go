package engineui_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/apikey"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/engineui"
	"github.com/streamwatch/streamwatch/record"
	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// To find the viewer takes a page's time, and none of its own.
func TestAuthorizeIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDoor(t, 0)
		_, c := d.enter(string(d.issue("acme", apikey.ScopeWrite).Secret))
		tail := listen(d, "/console/tail", http.Header{"Cookie": {c.Name + "=" + c.Value}})
		if tail.ended() {
			t.Fatalf("the tail has ended: status %d", tail.status)
		}
		d.hung.Store(true)
		for _, path := range []string{"/console/", "/console/tail"} {
			begin := time.Now()
			got := d.with(c, http.MethodGet, path)
			if took := time.Since(begin); got.Code != http.StatusServiceUnavailable || took != 10*time.Second {
				t.Errorf("%s: status %d after %s, want 503 after 10 s", path, got.Code, took)
			}
		}
		if !tail.ended() {
			t.Error("a tail whose viewer cannot be found goes on")
		}
	})
}

// mute is a store that does not say which shared key it has until the context ends.
type mute struct{ *memory.Store }

func (s mute) Ports() storage.Ports {
	p := s.Store.Ports()
	p.State = muteState{p.State}
	return p
}

type muteState struct{ record.State }

func (muteState) Get(ctx context.Context, _ record.Name) (record.Value, error) {
	<-ctx.Done()
	return record.Value{}, ctx.Err()
}

// Who asks for a page waits no longer than the request lasts, whoever else waits for the
// key of sessions.
func TestSessionsDoNotWaitForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, err := streamwatch.New(streamwatch.Config{Fetcher: enginetest.NewPlatform(enginetest.PlatformConfig{}), Store: mute{memory.New(memory.Options{})},
			Fleet: &streamwatch.FleetConfig{Name: "a"}})
		if err != nil {
			t.Fatal(err)
		}
		c, err := engineui.New(engineui.Config{Engine: e, Login: &engineui.KeyLogin{Auth: nobody{}}})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		begin := time.Now()
		page := func(ctx context.Context) (status int, took time.Duration) {
			r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil)
			r.AddCookie(&http.Cookie{Name: "streamwatch_console", Value: "c2VhbGVk"})
			w := httptest.NewRecorder()
			c.ServeHTTP(w, r)
			return w.Code, time.Since(begin)
		}
		first := make(chan time.Duration)
		go func() {
			_, took := page(t.Context())
			first <- took
		}()
		synctest.Wait()
		gone, leave := context.WithCancel(t.Context())
		leave()
		if status, took := page(gone); status != http.StatusServiceUnavailable || took > 0 {
			t.Errorf("the second: status %d after %s, want 503 at once", status, took)
		}
		if took := <-first; took != 10*time.Second {
			t.Errorf("the first took %s, want a page's time, 10 s", took)
		}
	})
}
