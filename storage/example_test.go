package storage_test

import (
	"context"
	"fmt"
	"time"

	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// timed is a store whose commits are timed: one role is wrapped, the others are
// those of the store below.
type timed struct{ storage.Store }

func (t timed) Ports() storage.Ports {
	p := t.Store.Ports()
	p.Journal = timedJournal{p.Journal}
	return p
}

type timedJournal struct{ detect.Journal }

func (j timedJournal) Commit(ctx context.Context, batches []*detect.Batch) error {
	began := time.Now()
	defer func() { fmt.Println("a commit took less than a minute:", time.Since(began) < time.Minute) }()
	return j.Journal.Commit(ctx, batches)
}

// A Store joins ports, and each of them can be wrapped alone.
func ExampleStore() {
	var store storage.Store = timed{memory.New(memory.Options{})}
	if err := store.Ports().Journal.Commit(context.Background(), nil); err != nil {
		fmt.Println(err)
	}
	// Output:
	// a commit took less than a minute: true
}
