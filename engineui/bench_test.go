package engineui_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/engineui"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/record"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// BenchmarkPages makes pages of 1,000 owners with 100,000 accounts, one of whom has a million events,
// the last 10,000 of which wait for a paused endpoint.
func BenchmarkPages(b *testing.B) {
	const owners, accounts, events, waiting = 1000, 100, 1_000_000, 10_000
	store := memory.New(memory.Options{MaxEvents: events, MaxEventIDs: events})
	ports := store.Ports()
	at := time.Now()
	for n := range owners {
		owner, id := fmt.Sprintf("owner-%04d", n), fmt.Sprintf("mon_%04d", n)
		m := monitor.Monitor{ID: id, Owner: owner, Name: "monitor of " + owner, PollInterval: 24 * time.Hour, Status: monitor.Active, CreatedAt: at.Add(time.Duration(n)), UpdatedAt: at, WebhookID: "whk" + id}
		for k := range accounts {
			m.Accounts = append(m.Accounts, monitor.Account{Username: fmt.Sprintf("account_%06d", n*accounts+k), Since: at})
		}
		e := deliver.Endpoint{ID: "whk" + id, Source: deliver.Source{Kind: deliver.SourceMonitor, ID: id, Owner: owner, Name: m.Name}, URL: "https://hooks." + owner + ".example.com/in",
			Secret: hookSecret, Status: deliver.EndpointActive, PausedSince: at, CreatedAt: at.Add(time.Duration(n)), UpdatedAt: at}
		monitored, err := m.Record()
		if err != nil {
			b.Fatal(err)
		}
		hook, err := e.Record()
		if err != nil {
			b.Fatal(err)
		}
		if _, err := ports.Records.Apply(b.Context(), record.Change{Put: []record.Record{monitored, hook}}); err != nil {
			b.Fatal(err)
		}
	}
	src := deliver.Source{Kind: deliver.SourceMonitor, ID: "mon_0000", Owner: "owner-0000", Name: "monitor of owner-0000"}
	for n := 0; n < events; n += 1000 {
		batch := detect.Batch{DeliverBy: at}
		for k := n; k < n+1000; k++ {
			id := fmt.Sprint(k)
			batch.Events = append(batch.Events, deliver.Event{ID: deliver.EventID(src.ID, id), Source: src, TweetID: id, AuthorUsername: "account_000007", TextPreview: "text of " + id,
				PublishedAt: at, FetchedAt: at, DetectedAt: at, Body: []byte(`{"event":"tweet.detected"}`)})
		}
		if err := ports.Journal.Commit(b.Context(), []*detect.Batch{&batch}); err != nil {
			b.Fatal(err)
		}
		var settled []deliver.Settlement
		for _, d := range batch.Deliveries {
			settled = append(settled, deliver.Settlement{DeliveryID: d.ID, Attempt: &deliver.Attempt{N: 1, At: at, StatusCode: http.StatusOK}, State: deliver.StateDelivered})
		}
		if len(settled) != 1000 {
			b.Fatalf("a batch has %d deliveries, want 1,000", len(settled))
		}
		if n < events-waiting {
			if err := ports.Outbox.Settle(b.Context(), settled...); err != nil {
				b.Fatal(err)
			}
		}
	}
	engine, err := streamwatch.New(streamwatch.Config{Fetcher: enginetest.NewPlatform(enginetest.PlatformConfig{}), Store: store})
	if err != nil {
		b.Fatal(err)
	}
	if err := engine.Start(b.Context()); err != nil {
		b.Fatal(err)
	}
	console, err := engineui.New(engineui.Config{Engine: engine, Authorize: byHeader, Ledger: ports.Ledger})
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		console.Close()
		if err := engine.Shutdown(context.Background()); err != nil {
			b.Error(err)
		}
	}()
	for _, path := range []string{"/", "/monitors", "/monitors?find=account_050000", "/endpoints", "/endpoint?endpoint=whkmon_0000", "/owners", "/owner?owner=owner-0000",
		"/deliveries?owner=owner-0000", "/deliveries?owner=owner-0000&find=text", "/deliveries?owner=owner-0000&find=nothing", "/deliveries?owner=owner-0000&state=failed", "/events?owner=owner-0000&find=nothing", "/events?owner=owner-0000", "/account?account=account_000007", "/find?find=owner-0500", "/monitor?monitor=mon_0000"} {
		b.Run(strings.ReplaceAll(path, "/", "_"), func(b *testing.B) {
			size := 0
			for b.Loop() {
				got := ask(console, http.MethodGet, path, "", http.Header{"Viewer": {"operator"}})
				if size = got.Body.Len(); got.Code >= 400 || size > 200_000 {
					b.Fatalf("status %d, %d bytes, want at most 200,000", got.Code, size)
				}
			}
			b.ReportMetric(float64(size), "B/page")
		})
	}
}
