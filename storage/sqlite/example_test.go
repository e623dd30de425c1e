package sqlite_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/storage/sqlite"
)

// What one engine stores in a file, another finds there.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "streamwatch")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	for range 2 {
		if err := once(ctx, filepath.Join(dir, "streams.db")); err != nil {
			fmt.Println(err)
			return
		}
	}
	// Output:
	// 0 monitors
	// 1 monitors
}

// once opens the file, prints how many monitors it has, and adds one.
func once(ctx context.Context, file string) error {
	store, err := sqlite.Open(ctx, file, sqlite.Options{Retention: 24 * time.Hour})
	if err != nil {
		return err
	}
	defer store.Close(ctx)
	engine, err := streamwatch.New(streamwatch.Config{
		Fetcher: enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"nasa"}}),
		Store:   store,
	})
	if err != nil {
		return err
	}
	page, err := engine.Monitors().Page(ctx, monitor.Query{Owner: "acme"})
	if err != nil {
		return err
	}
	fmt.Println(page.Total, "monitors")
	_, err = engine.Monitors().Create(ctx, monitor.CreateRequest{Owner: "acme", Name: fmt.Sprint("space ", page.Total), Usernames: []string{"nasa"}})
	return err
}
