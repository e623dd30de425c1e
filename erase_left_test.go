package streamwatch_test

import (
	"context"
	"encoding/base64"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/endpoints"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/internal/heard"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule"
	"github.com/streamwatch/streamwatch/storage/memory"
	"github.com/streamwatch/streamwatch/storage/sqlite"
)

// What SECURITY.md says stays of an owner who was erased, and no more: cursors of what it had ceased to watch, which do not tell whose they were.
func TestWhatEraseLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "streams.db")
		store, err := sqlite.Open(t.Context(), path, sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close(context.Background())
		p := enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"watchedaccount", "droppedaccount"}})
		e := newEngine(t, streamwatch.Config{Fetcher: p, Store: store})
		if err := e.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		m := create(t, e, monitor.CreateRequest{Owner: "gone-customer", Name: "their-monitor", Usernames: []string{"watchedaccount", "droppedaccount"}, PollInterval: time.Second})
		r, err := e.Rules().Create(t.Context(), rule.CreateRequest{Owner: "gone-customer", Tag: "their-rule", Query: "dropped-query", Interval: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		pass(10 * time.Second)
		names, query := []string{"watchedaccount"}, "watched-query"
		if _, err := e.Monitors().Update(t.Context(), "gone-customer", m.ID, monitor.UpdateRequest{Usernames: &names}); err != nil {
			t.Fatal(err)
		}
		if _, err := e.Rules().Update(t.Context(), "gone-customer", r.ID, rule.UpdateRequest{Query: &query}); err != nil {
			t.Fatal(err)
		}
		pass(10 * time.Second)
		if _, err := e.Erase(t.Context(), "gone-customer"); err != nil {
			t.Fatal(err)
		}
		all := rowsOf(t, path)
		for word, stays := range map[string]bool{
			m.ID: false, r.ID: false, "droppedaccount": true, "dropped-query": true,
			"gone-customer": false, "their-monitor": false, "their-rule": false, "watchedaccount": false, "watched-query": false,
		} {
			if strings.Contains(all, word) != stays {
				t.Errorf("%q is in a row: %t, want %t", word, !stays, stays)
			}
		}
		if err := e.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// diesInMark is a store whose process dies, once, between the two halves of an owner's mark.
type diesInMark struct {
	*memory.Store
	died bool
}

func (s *diesInMark) Endpoints() deliver.EndpointStore {
	return diesInMarkEndpoints{s.Store.Endpoints(), s}
}

type diesInMarkEndpoints struct {
	deliver.EndpointStore
	of *diesInMark
}

func (s diesInMarkEndpoints) Delete(ctx context.Context, owner, id string) error {
	if !s.of.died {
		s.of.died = true
		return errors.New("the process dies")
	}
	return s.EndpointStore.Delete(ctx, owner, id)
}

// An Erase that ended between the halves of its mark is made again, and nothing of the
// first stays.
func TestEraseGoesOnAfterHalfAMark(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(memory.Options{})
		dying := &diesInMark{Store: store}
		e := newEngine(t, streamwatch.Config{Fetcher: enginetest.NewPlatform(enginetest.PlatformConfig{}), Store: dying})
		if _, err := e.Erase(t.Context(), "customer"); err == nil || !dying.died {
			t.Fatalf("Erase = %v, died = %t, want an error of the store", err, dying.died)
		}
		if _, err := e.Erase(t.Context(), "customer"); err != nil {
			t.Fatalf("Erase made again = %v", err)
		}
		err := store.Endpoints().Scan(t.Context(), func(ep deliver.Endpoint) error {
			t.Errorf("%s of %s stays", ep.ID, ep.Source.ID)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

// What an Erase leaves that ended between the halves of its mark is no endpoint whose secret
// cannot be opened.
func TestReadyAfterHalfAMark(t *testing.T) {
	sealer, err := endpoints.NewAESSealer(endpoints.SealKey{ID: "k", Key: deliver.Secret(base64.StdEncoding.EncodeToString(make([]byte, 32)))})
	if err != nil {
		t.Fatal(err)
	}
	for name, seals := range map[string]endpoints.Sealer{"plain": nil, "sealed": sealer} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := memory.New(memory.Options{})
				var log heard.Output
				cfg := streamwatch.Config{Fetcher: enginetest.NewPlatform(enginetest.PlatformConfig{}), Store: &diesInMark{Store: store}, Sealer: seals,
					Logger: slog.New(slog.NewTextHandler(&log, nil))}
				if _, err := newEngine(t, cfg).Erase(t.Context(), "customer"); err == nil {
					t.Fatal("Erase did not fail")
				}
				cfg.Store = store
				e := newEngine(t, cfg)
				stop := startEngine(t, e)
				defer stop()
				if err := e.Ready(); err != nil || strings.Contains(log.String(), "level=ERROR") {
					t.Errorf("Ready = %v, log %s", err, log.String())
				}
			})
		})
	}
}
