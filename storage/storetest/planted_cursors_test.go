package storetest

import (
	"context"
	"strconv"
	"strings"
	"testing"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/storage"
)

// plantedCursors are stores whose logs turn pages wrongly.
var plantedCursors = []plantedFault{
	{"counts rows for a cursor", func(s storage.Store) storage.Store {
		return &broken{Store: s, deliveries: func(ctx context.Context, q deliver.LogQuery) (deliver.LogPage, error) {
			page := 1
			if q.Cursor != "" {
				page, _ = strconv.Atoi(q.Cursor)
			}
			q.Cursor, q.Page = "", page
			p, err := s.Log().Deliveries(ctx, q)
			if p.Next != "" {
				p.Next = strconv.Itoa(page + 1)
			}
			return p, err
		}}
	}, "cursors/rows added between pages neither hide nor repeat others: the newest first", "after a cursor Deliveries"},
	{"has a Next on the last page", func(s storage.Store) storage.Store {
		return &broken{Store: s, deliveries: func(ctx context.Context, q deliver.LogQuery) (deliver.LogPage, error) {
			p, err := s.Log().Deliveries(ctx, q)
			if p.Next == "" {
				p.Next = q.Cursor
			}
			return p, err
		}}
	}, "cursors/cursors show full pages", "do not come to an end"},
	{"has a Next that no URL can carry", func(s storage.Store) storage.Store {
		return &broken{Store: s, deliveries: func(ctx context.Context, q deliver.LogQuery) (deliver.LogPage, error) {
			q.Cursor = strings.TrimLeft(q.Cursor, ">")
			p, err := s.Log().Deliveries(ctx, q)
			if p.Next != "" {
				p.Next = strings.Repeat(">", 4096) + p.Next
			}
			return p, err
		}}
	}, "cursors/cursors show full pages, the newest first", "want at most 4096"},
	{"takes any cursor for the beginning", func(s storage.Store) storage.Store {
		return &broken{Store: s, entries: func(ctx context.Context, q billing.EntryQuery) (billing.EntryPage, error) {
			p, err := s.Ledger().Entries(ctx, q)
			if err == billing.ErrCursor {
				q.Cursor = ""
				return s.Ledger().Entries(ctx, q)
			}
			return p, err
		}}
	}, "cursors/a cursor that is no Next is refused", "Entries with the cursor"},
	{"counts what follows for all", func(s storage.Store) storage.Store {
		return &broken{Store: s, entries: func(ctx context.Context, q billing.EntryQuery) (billing.EntryPage, error) {
			p, err := s.Ledger().Entries(ctx, q)
			if q.Cursor != "" {
				p.Total = len(p.Entries)
			}
			return p, err
		}}
	}, "cursors/cursors show the oldest first", "Total of Entries"},
	{"forgets the order after a cursor", func(s storage.Store) storage.Store {
		return &broken{Store: s, entries: func(ctx context.Context, q billing.EntryQuery) (billing.EntryPage, error) {
			if q.Cursor != "" {
				q.Asc = true
			}
			return s.Ledger().Entries(ctx, q)
		}}
	}, "cursors/cursors show the newest first", "pages of Entries"},
}

func TestPlantedCursorFaults(t *testing.T) { findPlanted(t, plantedCursors) }
