package redisstore_test

import (
	"context"
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/storage/redisstore"
)

func Example() {
	ctx := context.Background()
	server, err := miniredis.Run() // stands in for a Redis
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()

	// Two processes on the same data. AllowEviction is only for miniredis, which does
	// not tell its eviction policy.
	to := &redis.UniversalOptions{Addrs: []string{server.Addr()}}
	opts := redisstore.Options{Name: "acme-streams", Retention: 24 * time.Hour, AllowEviction: true}
	one, err := redisstore.Open(ctx, to, opts)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer one.Close(ctx)
	two, err := redisstore.Open(ctx, to, opts)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer two.Close(ctx)

	post := deliver.Event{
		ID: deliver.EventID("m1", "42"), Source: deliver.Source{ID: "m1", Owner: "acme"}, TweetID: "42",
		Body: []byte(`{"tweet_id":"42"}`), Handlers: []string{"log"},
	}
	for i, s := range []*redisstore.Store{one, two} {
		batch := &detect.Batch{Events: []deliver.Event{post}, DeliverBy: time.Now()}
		if err := s.Ports().Journal.Commit(ctx, []*detect.Batch{batch}); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("process %d: number %d, %d deliveries\n", i+1, batch.Events[0].Seq, len(batch.Deliveries))
	}
	claimed, err := two.Ports().Outbox.Claim(ctx, deliver.ClaimRequest{Now: time.Now(), Lease: time.Minute, Limit: 10})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("process 2 claimed the post %s\n", claimed[0].Event.TweetID)
	fmt.Printf("%+v\n", two.Stats())
	// Output:
	// process 1: number 1, 1 deliveries
	// process 2: number 0, 0 deliveries
	// process 2 claimed the post 42
	// {Retries:0 Mixups:0 Lost:0}
}
