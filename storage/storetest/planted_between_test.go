package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/storage"
)

// plantedWindows are stores whose logs treat Since and Until wrongly.
var plantedWindows = []plantedFault{
	{"leaves out what was detected at Since itself", func(s storage.Store) storage.Store {
		return &broken{Store: s, deliveries: func(ctx context.Context, q deliver.LogQuery) (deliver.LogPage, error) {
			if !q.Since.IsZero() {
				q.Since = q.Since.Add(time.Nanosecond)
			}
			return s.Log().Deliveries(ctx, q)
		}}
	}, "windows/Deliveries shows what was detected within a time", "since a time, inclusive"},
	{"shows what was detected at Until itself", func(s storage.Store) storage.Store {
		return &broken{Store: s, deliveries: func(ctx context.Context, q deliver.LogQuery) (deliver.LogPage, error) {
			if !q.Until.IsZero() {
				q.Until = q.Until.Add(time.Nanosecond)
			}
			return s.Log().Deliveries(ctx, q)
		}}
	}, "windows/Deliveries shows what was detected within a time", "until a time, exclusive"},
	{"cuts Since to milliseconds", func(s storage.Store) storage.Store {
		return &broken{Store: s, deliveries: func(ctx context.Context, q deliver.LogQuery) (deliver.LogPage, error) {
			q.Since = q.Since.Truncate(time.Millisecond)
			return s.Log().Deliveries(ctx, q)
		}}
	}, "windows/Deliveries shows what was detected within a time", "since a nanosecond later"},
	{"shows entries made at Until itself", func(s storage.Store) storage.Store {
		return &broken{Store: s, entries: func(ctx context.Context, q billing.EntryQuery) (billing.EntryPage, error) {
			if !q.Until.IsZero() {
				q.Until = q.Until.Add(time.Nanosecond)
			}
			return s.Ledger().Entries(ctx, q)
		}}
	}, "windows/Entries shows what was made within a time", "until a time, exclusive"},
}

func TestPlantedWindowFaults(t *testing.T) { findPlanted(t, plantedWindows) }
