package control

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/record"
)

// applyTime is the most time for one Apply. The store has two thirds of it for the change, and the
// rest to tell whether it was made.
const applyTime = 15 * time.Second

// Apply makes a change in a store and returns the number of its last entry in the feed. If the
// store's answer leaves open whether the change was made, Apply reads it back, also after
// ctx was cancelled, but not after its deadline: the number is then 0, and nil means that it was
// made. After any other error it may still be made later, and then comes by the feed.
func Apply(ctx context.Context, store record.Store, c record.Change) (feed uint64, err error) {
	now := time.Now()
	end := now.Add(applyTime)
	if deadline, ok := ctx.Deadline(); ok && deadline.Before(end) {
		end = deadline
	}
	apply, cancel := context.WithDeadline(ctx, now.Add(end.Sub(now)*2/3))
	defer cancel()
	feed, err = store.Apply(apply, c)
	if err == nil || refused(err) {
		return feed, err
	}
	check, cancel := context.WithDeadline(context.WithoutCancel(ctx), end)
	defer cancel()
	if made(check, store, &c) {
		return 0, nil
	}
	return 0, err
}

// refused reports whether an error of Apply means that nothing was changed.
func refused(err error) bool {
	var limit *record.LimitError
	for _, is := range []error{record.ErrNotFound, record.ErrConflict, record.ErrDuplicate, record.ErrGone, record.ErrInvalid} {
		if errors.Is(err, is) {
			return true
		}
	}
	return errors.As(err, &limit)
}

// made reports whether a change is in the store. It looks at one of its records, because a change
// is made whole.
func made(ctx context.Context, store record.Store, c *record.Change) bool {
	if len(c.Put) > 0 {
		p := &c.Put[0]
		stored, err := store.Get(ctx, p.Owner, p.Key)
		return err == nil && stored.Version == p.Version+1 && stored.Name == p.Name && stored.Status == p.Status && bytes.Equal(stored.Data, p.Data)
	}
	if len(c.Delete) > 0 {
		_, err := store.Get(ctx, c.Delete[0].Owner, c.Delete[0].Key)
		return errors.Is(err, record.ErrNotFound)
	}
	return false
}

// Exceeded returns the error for the limit that a change would exceed.
func Exceeded(over *record.LimitError, limits []Limit) error {
	for _, l := range limits {
		if l.Of == over.Of && l.Status == over.Status && l.Parent == over.Parent && slices.Equal(l.Kinds, over.Kinds) {
			return l.Exceeded(over.Have)
		}
	}
	return over
}
