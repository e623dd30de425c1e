package mastodon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

func TestIDsAreRemembered(t *testing.T) {
	poll := func(t *testing.T, f *Fetcher, name string) error {
		t.Helper()
		_, err := f.Timeline(t.Context(), fetcher.TimelineQuery{Username: name})
		return err
	}
	lookups := func(s *server) (n int) {
		for _, r := range s.requests {
			if strings.HasPrefix(r, lookupPath) {
				n++
			}
		}
		return n
	}
	t.Run("one look-up for many polls, in any case", func(t *testing.T) {
		s := newServer(t, map[string]http.HandlerFunc{lookupPath: text(ann), statusesPath: text("[]")})
		f := s.fetcher(t, nil)
		for _, name := range []string{"ann", "ann", "Ann"} {
			if err := poll(t, f, name); err != nil {
				t.Fatal(err)
			}
		}
		if n := lookups(s); n != 1 {
			t.Errorf("%d look-ups, want 1", n)
		}
	})
	t.Run("a new account of the same name is found", func(t *testing.T) {
		s := newServer(t, map[string]http.HandlerFunc{lookupPath: text(ann), statusesPath: text("[]")})
		f := s.fetcher(t, nil)
		if err := poll(t, f, "ann"); err != nil {
			t.Fatal(err)
		}
		delete(s.answers, statusesPath)
		s.answers[lookupPath] = text(`{"id": "43"}`)
		s.answers["/api/v1/accounts/43/statuses"] = text("[]")
		if err := poll(t, f, "ann"); !errors.Is(err, fetcher.ErrNotFound) {
			t.Errorf("error %v, want ErrNotFound", err)
		}
		if err := poll(t, f, "ann"); err != nil {
			t.Errorf("error %v, want the new account", err)
		}
	})
	t.Run("an old id that is gone does not drop a newer one", func(t *testing.T) {
		s := newServer(t, map[string]http.HandlerFunc{lookupPath: text(ann), statusesPath: text("[]")})
		f := s.fetcher(t, nil)
		if err := poll(t, f, "ann"); err != nil {
			t.Fatal(err)
		}
		f.Timeline(t.Context(), fetcher.TimelineQuery{Username: "ann", UserID: "41"})
		if err := poll(t, f, "ann"); err != nil || lookups(s) != 1 {
			t.Errorf("error %v, %d look-ups; want none and 1", err, lookups(s))
		}
	})
	t.Run("other errors drop no id", func(t *testing.T) {
		s := newServer(t, map[string]http.HandlerFunc{lookupPath: text(ann), statusesPath: text("<html>")})
		f := s.fetcher(t, nil)
		poll(t, f, "ann")
		poll(t, f, "ann")
		if n := lookups(s); n != 1 {
			t.Errorf("%d look-ups, want 1", n)
		}
	})
	t.Run("a name that was given to another account is looked up again", func(t *testing.T) {
		s := newServer(t, map[string]http.HandlerFunc{lookupPath: text(ann), statusesPath: text("[]")})
		f := s.fetcher(t, nil)
		clock := noon
		f.now = func() time.Time { return clock }
		if err := poll(t, f, "ann"); err != nil {
			t.Fatal(err)
		}
		s.answers[lookupPath] = text(`{"id": "43"}`)
		s.answers["/api/v1/accounts/43/statuses"] = text("[]")
		clock = noon.Add(idsFor - 1)
		if err := poll(t, f, "ann"); err != nil || lookups(s) != 1 {
			t.Errorf("error %v, %d look-ups; want none and 1", err, lookups(s))
		}
		clock = noon.Add(idsFor)
		if page, err := f.Timeline(t.Context(), fetcher.TimelineQuery{Username: "ann"}); err != nil || page.UserID != "43" {
			t.Errorf("account %q, error %v; want the one that has the name", page.UserID, err)
		}
	})
	t.Run("at the bound all are dropped", func(t *testing.T) {
		s := newServer(t, map[string]http.HandlerFunc{lookupPath: text(ann), statusesPath: text("[]")})
		f := s.fetcher(t, nil)
		f.maxIDs = 2
		for _, name := range []string{"a", "b", "c", "c"} {
			if err := poll(t, f, name); err != nil {
				t.Fatal(err)
			}
		}
		if len(f.ids) != 1 || f.ids["c"] != "42" || lookups(s) != 3 {
			t.Errorf("remembered %v after %d look-ups, want c alone after 3", f.ids, lookups(s))
		}
	})
}

// With -race, this shows whether the remembered ids are guarded.
func TestConcurrentUse(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == lookupPath {
			fmt.Fprintf(w, `{"id": "id-%s"}`, url.PathEscape(r.URL.Query().Get("acct")))
			return
		}
		io.WriteString(w, "[]")
	}))
	t.Cleanup(srv.Close)
	f, err := New(Config{BaseURL: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	for i := range 8 {
		go func() {
			name := fmt.Sprintf("user%d", i)
			page, err := f.Timeline(context.Background(), fetcher.TimelineQuery{Username: name})
			if err == nil && page.UserID != "id-"+name {
				err = fmt.Errorf("id %q for %s", page.UserID, name)
			}
			done <- err
		}()
	}
	for range 8 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}
