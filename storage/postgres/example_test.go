package postgres_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/fetcher/mastodon"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/storage/postgres"
)

// A node of a fleet. Each process that runs this with the same database gets a share of the work.
func Example() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	store, err := postgres.Open(ctx, os.Getenv("DATABASE_URL"), postgres.Options{Retention: 24 * time.Hour})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close(context.Background()) // after the engine
	source, err := mastodon.New(mastodon.Config{BaseURL: "https://mastodon.social"})
	if err != nil {
		log.Fatal(err)
	}
	engine, err := streamwatch.New(streamwatch.Config{Fetcher: source, Store: store, Fleet: &streamwatch.FleetConfig{}})
	if err != nil {
		log.Fatal(err)
	}
	_, err = engine.Monitors().Ensure(ctx, monitor.CreateRequest{
		Name: "news", Usernames: []string{"Gargron", "Mastodon"}, WebhookURL: "https://hooks.example.com/posts",
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := engine.Run(ctx); err != nil {
		log.Fatal(err)
	}
}

// A primary and its standby: after a failover the store connects to the one that takes writes. With
// a synchronous standby nothing that was acknowledged is lost; Durability says what is given up for
// shorter commits.
func ExampleOpen_standby() {
	const url = "postgres://streams@db-1:5432,db-2:5432/streams?sslmode=verify-full&target_session_attrs=read-write"
	store, err := postgres.Open(context.Background(), url, postgres.Options{Schema: "acme_streams", Durability: postgres.Local})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close(context.Background())
}
