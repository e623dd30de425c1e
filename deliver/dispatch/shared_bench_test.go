package dispatch_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/dispatch"
	"github.com/streamwatch/streamwatch/deliver/webhook"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// BenchmarkElsewhere takes the time from a commit to the receiver's 2xx, when the lane is
// the committing dispatcher's own, and when it is another one's.
func BenchmarkElsewhere(b *testing.B) {
	for _, lane := range []string{"own", "other"} {
		b.Run(lane, func(b *testing.B) {
			took := make(chan time.Time, 1)
			srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
			defer srv.Close()
			hooks, err := webhook.New(webhook.Config{AllowPrivate: true})
			if err != nil {
				b.Fatal(err)
			}
			store := memory.New(memory.Options{})
			var ds [2]*dispatch.Dispatcher
			for i := range ds {
				ds[i], err = dispatch.New(dispatch.Config{Outbox: store.Outbox(), Endpoints: store.Endpoints(),
					Senders:   map[string]deliver.Sender{"http": stamped{hooks, took}},
					Elsewhere: func([]fleet.Part) { ds[1-i].Wake() }})
				if err != nil {
					b.Fatal(err)
				}
			}
			own := fleet.SetOf(fleet.PartOf("ep"))
			if lane == "other" {
				own = fleet.All().Minus(own)
			}
			for i, parts := range []fleet.Set{own, fleet.All().Minus(own)} {
				if err := ds[i].SetParts(b.Context(), parts); err != nil {
					b.Fatal(err)
				}
			}
			ctx, cut := context.WithCancel(context.Background())
			done := make(chan error, 2)
			for _, d := range ds {
				go func() { done <- d.Run(ctx) }()
			}
			if err := store.Endpoints().Create(b.Context(), deliver.Endpoint{ID: "ep", Source: src("s"), URL: srv.URL + "/",
				Secret: deliver.GenerateSecret(), Status: deliver.EndpointActive, CreatedAt: time.Now()}); err != nil {
				b.Fatal(err)
			}
			var times []time.Duration
			for n := 0; b.Loop(); n++ {
				tweet := fmt.Sprint(n)
				batch := &detect.Batch{DeliverBy: time.Now().Add(45 * time.Second), Lanes: &own, Events: []deliver.Event{{
					ID: deliver.EventID("s", tweet), Source: src("s"), TweetID: tweet, Body: []byte("{}"), PublishedAt: time.Now(), DetectedAt: time.Now()}}}
				began := time.Now()
				if err := store.Journal().Commit(b.Context(), []*detect.Batch{batch}); err != nil {
					b.Fatal(err)
				}
				ds[0].Enqueue(batch.Deliveries)
				times = append(times, (<-took).Sub(began))
			}
			slices.Sort(times)
			b.ReportMetric(float64(times[len(times)/2].Microseconds()), "p50-µs")
			b.ReportMetric(float64(times[len(times)*99/100].Microseconds()), "p99-µs")
			cut()
			<-done
			<-done
		})
	}
}

// stamped says when a sender had its answer.
type stamped struct {
	deliver.Sender
	took chan time.Time
}

func (s stamped) Send(ctx context.Context, d *deliver.Delivery) deliver.Result {
	r := s.Sender.Send(ctx, d)
	if !r.OK {
		panic(r.Error)
	}
	s.took <- time.Now()
	return r
}
