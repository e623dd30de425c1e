package apikey_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/streamwatch/streamwatch/apikey"
)

// meddled is a store in which others do something before a call, or which fails it.
type meddled struct {
	apikey.Store
	update func(apikey.Key) error
	delete func() error
}

func (s *meddled) Update(ctx context.Context, k apikey.Key) error {
	if s.update != nil {
		if err := s.update(k); err != nil {
			return err
		}
	}
	return s.Store.Update(ctx, k)
}

func (s *meddled) Delete(ctx context.Context, owner, id string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.delete != nil {
		if err := s.delete(); err != nil {
			return err
		}
	}
	return s.Store.Delete(ctx, owner, id)
}

var errDown = errors.New("store is down")

// newMeddled gives an office and its store, to be meddled with.
func newMeddled(t *testing.T, maxKeys int) (office, *meddled) {
	s := &meddled{}
	o := newOffice(t, func(c *apikey.Config) { s.Store, c.Store, c.MaxKeys = c.Store, s, maxKeys })
	return o, s
}

// A change that others come before is made again, and given up when they always do.
func TestChangeThatOthersComeBefore(t *testing.T) {
	for _, row := range []struct {
		conflicts int
		want      error
		updates   int
	}{
		{1, nil, 2}, {apikey.ChangeTries - 1, nil, apikey.ChangeTries}, {1000, apikey.ErrConflict, apikey.ChangeTries},
	} {
		o, s := newMeddled(t, 0)
		k := o.issue(t, nil)
		updates := 0
		s.update = func(apikey.Key) error {
			if updates++; updates > row.conflicts {
				return nil
			}
			theirs, err := s.Store.Get(t.Context(), "acme", k.ID)
			if err == nil {
				theirs.Name += "+"
				err = s.Store.Update(t.Context(), theirs)
			}
			return err
		}
		got, err := o.Revoke(t.Context(), "acme", k.ID)
		if !errors.Is(err, row.want) || (err == nil) != (row.want == nil) || updates != row.updates {
			t.Errorf("%d changes by others: error %v after %d tries, want %v after %d", row.conflicts, err, updates, row.want, row.updates)
		}
		if want := k.Name + strings.Repeat("+", row.conflicts); err == nil && got.Name != want {
			t.Errorf("the others' changes are undone: %q, want %q", got.Name, want)
		}
	}
}

// A change that the store fails is not made again: it may have been done.
func TestChangeThatTheStoreFails(t *testing.T) {
	o, s := newMeddled(t, 0)
	k := o.issue(t, nil)
	updates := 0
	s.update = func(apikey.Key) error { updates++; return errDown }
	if _, err := o.Revoke(t.Context(), "acme", k.ID); !errors.Is(err, errDown) || updates != 1 {
		t.Errorf("error %v after %d tries, want the store's after 1", err, updates)
	}
}

// The oldest key that has ended may be removed by another at the same moment.
func TestRoomIsMadeByAnother(t *testing.T) {
	for _, row := range []struct{ fails, want error }{{apikey.ErrNotFound, nil}, {errDown, errDown}} {
		o, s := newMeddled(t, 1)
		k := o.issue(t, nil)
		if _, err := o.Revoke(t.Context(), "acme", k.ID); err != nil {
			t.Fatal(err)
		}
		s.delete = func() error { return row.fails }
		if _, err := o.Issue(t.Context(), apikey.IssueRequest{Owner: "acme", Name: "n"}); !errors.Is(err, row.want) || (err == nil) != (row.want == nil) {
			t.Errorf("Delete fails with %v: error %v, want %v", row.fails, err, row.want)
		}
	}
}

// lostReply is a store whose answer to Create is lost.
type lostReply struct{ apikey.Store }

func (s lostReply) Create(ctx context.Context, k apikey.Key) error {
	return errors.Join(s.Store.Create(ctx, k), errDown)
}

// A key that may have been stored is named with the error, without its secret.
func TestKeyOfUnknownOutcome(t *testing.T) {
	o, s := newMeddled(t, 0)
	s.Store = lostReply{s.Store}
	k, err := o.Issue(t.Context(), apikey.IssueRequest{Owner: "acme", Name: "n"})
	list, _ := o.List(t.Context(), "acme")
	if !errors.Is(err, errDown) || len(list) != 1 || k.ID != list[0].ID || k.Secret != "" {
		t.Errorf("Issue: %+v, error %v, want the record of one of %+v", k, err, list)
	}
}
