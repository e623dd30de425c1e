package control_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/internal/control"
	"github.com/streamwatch/streamwatch/record"
)

// If the answer of the store is lost, Apply tells whether the change was made.
func TestApply(t *testing.T) {
	key := monitorKey("a")
	put := func(version int64, data string) record.Change {
		return record.Change{Put: []record.Record{{Key: key, Owner: "acme", Status: "active", Version: version, Data: []byte(data)}}}
	}
	del := record.Change{Delete: []record.Ref{{Key: key, Owner: "acme"}}}
	lost := func(error) error { return errDown }
	unmade := func(*record.Change) error { return errDown }
	for _, tt := range []struct {
		name   string
		stored bool // version 1 is, with the data "{}"
		change record.Change
		before func(*record.Change) error
		after  func(error) error
		want   error
	}{
		{name: "created", change: put(0, "{}")},
		{name: "created, the answer lost", change: put(0, "{}"), after: lost},
		{name: "replaced, the answer lost", stored: true, change: put(1, "[]"), after: lost},
		{name: "deleted, the answer lost", stored: true, change: del, after: lost},
		{name: "not created", change: put(0, "{}"), before: unmade, want: errDown},
		{name: "not replaced", stored: true, change: put(1, "[]"), before: unmade, want: errDown},
		{name: "not replaced by the same", stored: true, change: put(1, "{}"), before: unmade, want: errDown},
		{name: "not deleted", stored: true, change: del, before: unmade, want: errDown},
		{name: "another created it", stored: true, change: put(0, "[]"), before: unmade, want: errDown},
		{name: "only limits", change: record.Change{}, before: unmade, want: errDown},
		{name: "refused", change: put(1, "{}"), want: record.ErrNotFound},
		{name: "a conflict", stored: true, change: put(2, "[]"), want: record.ErrConflict},
		{name: "a duplicate", stored: true, change: put(0, "[]"), want: record.ErrDuplicate},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSpy()
			if tt.stored {
				s.put(t, key, 0)
			}
			s.before, s.after = tt.before, tt.after
			n, err := control.Apply(t.Context(), s, tt.change)
			if !errors.Is(err, tt.want) || err == nil && (n == 0) != (tt.after != nil) {
				t.Errorf("entry %d, error %v; want %v", n, err, tt.want)
			}
		})
	}
}

// A refusal is believed: nothing is read back.
func TestApplyDoesNotReadAfterARefusal(t *testing.T) {
	for _, refusal := range []error{record.ErrNotFound, record.ErrConflict, record.ErrDuplicate, record.ErrGone, record.ErrInvalid, &record.LimitError{}} {
		s := newSpy()
		s.before = func(*record.Change) error { return refusal }
		s.get = func(record.Key) error { t.Errorf("read back after %v", refusal); return nil }
		if _, err := control.Apply(t.Context(), s, record.Change{Put: []record.Record{{Key: monitorKey("a")}}}); !errors.Is(err, refusal) {
			t.Errorf("error %v, want %v", err, refusal)
		}
	}
}

// A store that does not answer is given up, and what it has made is found out: within the caller's
// deadline, and even for a caller that is gone.
func TestApplyGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSpy()
		hang := hanging{s}
		hurried, cancel := context.WithTimeout(t.Context(), 13*time.Second) // 3 s of which are left for it
		defer cancel()
		gone, leave := context.WithCancel(t.Context())
		leave()
		for _, c := range []struct {
			ctx  context.Context
			id   string
			took time.Duration
		}{{t.Context(), "a", 10 * time.Second}, {hurried, "b", 2 * time.Second}, {gone, "c", 0}} {
			began := time.Now()
			_, err := control.Apply(c.ctx, hang, record.Change{Put: []record.Record{{Key: monitorKey(c.id), Data: []byte("{}")}}})
			if took := time.Since(began); err != nil || took != c.took {
				t.Errorf("%s: error %v after %s, want none after %s", c.id, err, took, c.took)
			}
		}
	})
}

// hanging makes each change and does not say so.
type hanging struct{ *spy }

func (h hanging) Apply(ctx context.Context, c record.Change) (uint64, error) {
	if _, err := h.Store.Apply(context.WithoutCancel(ctx), c); err != nil {
		return 0, err
	}
	<-ctx.Done()
	return 0, ctx.Err()
}
