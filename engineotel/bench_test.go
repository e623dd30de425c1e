package engineotel_test

import (
	"context"
	"fmt"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/engineotel"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// still is a platform and a store that do nothing, so that what is measured is what
// stands around them.
type still struct {
	storage.Store
	page fetcher.Page
}

func (s *still) Timeline(context.Context, fetcher.TimelineQuery) (fetcher.Page, error) {
	return s.page, nil
}
func (s *still) Journal() detect.Journal { return stillJournal{} }

type stillJournal struct{ detect.Journal }

func (stillJournal) Commit(_ context.Context, batches []*detect.Batch) error {
	for _, b := range batches {
		b.Events[0].Seq = 1
	}
	return nil
}

// BenchmarkEvent is what tracing adds to an event: to a page of 20 posts, its share of a
// commit of 64, and an attempt. Spans are made and not exported.
func BenchmarkEvent(b *testing.B) {
	for _, ratio := range []float64{0.01, 1} {
		b.Run(fmt.Sprint(ratio), func(b *testing.B) {
			s := &still{Store: memory.New(memory.Options{})}
			for i := range 20 {
				s.page.Tweets = append(s.page.Tweets, fetcher.Tweet{ID: fmt.Sprint(int64(1_000_000_000_000_000_000) + int64(i))})
			}
			tp := sdktrace.NewTracerProvider(sdktrace.WithIDGenerator(engineotel.IDs()))
			cfg, err := engineotel.Instrument(streamwatch.Config{Fetcher: s, Store: s}, engineotel.Options{TracerProvider: tp, Ratio: ratio})
			if err != nil {
				b.Fatal(err)
			}
			var batches []*detect.Batch
			for i := range 64 {
				batches = append(batches, &detect.Batch{Events: []deliver.Event{*event(i)}})
			}
			ctx, seen := context.Background(), func(string) bool { return true }
			d := &deliver.Delivery{ID: "dlv_1", Endpoint: deliver.Endpoint{ID: "whk_1", URL: "https://example.com/hook"}}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if _, err := cfg.Fetcher.Timeline(ctx, fetcher.TimelineQuery{Username: "nasa", Seen: seen}); err != nil {
					b.Fatal(err)
				}
				if i%64 == 0 {
					if err := cfg.Store.Journal().Commit(ctx, batches); err != nil {
						b.Fatal(err)
					}
				}
				d.Event = &batches[i%64].Events[0]
				_, _, done := cfg.Webhook.Trace(ctx, d)
				done(deliver.Result{OK: true, StatusCode: 200})
			}
		})
	}
}
