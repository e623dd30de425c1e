package memory_test

import (
	"context"
	"fmt"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/record"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// A new post is committed, claimed, delivered, and found in the log.
func Example() {
	ctx := context.Background()
	store := memory.New(memory.Options{Retention: 24 * time.Hour})
	defer store.Close(ctx)

	src := deliver.Source{Kind: deliver.SourceMonitor, ID: "mon_1", Owner: "acme", Name: "space"}
	endpoint, err := deliver.Endpoint{ID: "wh_1", Source: src, URL: "https://hooks.example.com/posts", Status: deliver.EndpointActive}.Record()
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := store.Ports().Records.Apply(ctx, record.Change{Put: []record.Record{endpoint}}); err != nil {
		fmt.Println(err)
		return
	}
	found := &detect.Batch{
		Cursor: &detect.Cursor{Target: "nasa", Since: time.Now()},
		Events: []deliver.Event{{
			ID: deliver.EventID(src.ID, "1234"), Source: src, TweetID: "1234",
			Body: []byte(`{"event":"tweet.detected","tweet_id":"1234"}`),
		}},
	}
	if err := store.Ports().Journal.Commit(ctx, []*detect.Batch{found}); err != nil {
		fmt.Println(err)
		return
	}

	claimed, err := store.Ports().Outbox.Claim(ctx, deliver.ClaimRequest{Now: time.Now(), Lease: time.Minute, Limit: 10})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, d := range claimed {
		fmt.Printf("send event %d of %s to %s: %s\n", d.Event.Seq, d.Owner(), d.EndpointID, d.Event.Body)
		err := store.Ports().Outbox.Settle(ctx, deliver.Settlement{
			DeliveryID: d.ID,
			Attempt:    &deliver.Attempt{N: d.Attempts + 1, At: time.Now(), StatusCode: 204},
			State:      deliver.StateDelivered,
		})
		if err != nil {
			fmt.Println(err)
		}
	}

	log, err := store.Ports().Log.Deliveries(ctx, deliver.LogQuery{Owner: "acme", State: deliver.StateDelivered})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, e := range log.Entries {
		fmt.Printf("%s: %s after %d attempt, status %d\n", e.Event.TweetID, e.State, e.Attempts, e.Log[0].StatusCode)
	}
	// Output:
	// send event 1 of acme to wh_1: {"event":"tweet.detected","tweet_id":"1234"}
	// 1234: delivered after 1 attempt, status 204
}
