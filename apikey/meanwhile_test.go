package apikey_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/apikey"
)

// meddled is a store in which others do something before a call, or which fails it.
type meddled struct {
	apikey.Store
	list   func() error
	create func() error
	update func(apikey.Key) error
	delete func() error
}

func (s *meddled) List(ctx context.Context, owner string) ([]apikey.Key, error) {
	if s.list != nil {
		if err := s.list(); err != nil {
			return nil, err
		}
	}
	return s.Store.List(ctx, owner)
}

func (s *meddled) Create(ctx context.Context, k apikey.Key) error {
	if s.create != nil {
		if err := s.create(); err != nil {
			return err
		}
	}
	return s.Store.Create(ctx, k)
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

// ids lists the ids of acme's keys.
func (o office) ids(t *testing.T) (ids []string) {
	t.Helper()
	list, err := o.List(t.Context(), "acme")
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range list {
		ids = append(ids, k.ID)
	}
	return ids
}

// A key that is revoked while it is rotated gets no successor.
func TestRotateBesideARevocation(t *testing.T) {
	o, s := newMeddled(t, 0)
	old := o.issue(t, nil)
	s.create = func() error {
		_, err := o.Revoke(t.Context(), "acme", old.ID)
		return err
	}
	if _, err := o.Rotate(t.Context(), "acme", old.ID, apikey.Rotation{}); !errors.Is(err, apikey.ErrEnded) {
		t.Errorf("error %v, want ErrEnded", err)
	}
	if ids := o.ids(t); len(ids) != 1 || ids[0] != old.ID {
		t.Errorf("keys %q, want the old one alone", ids)
	}
}

// A client that leaves during a rotation leaves no key that nobody has seen.
func TestRotateOfAClientThatLeaves(t *testing.T) {
	o, s := newMeddled(t, 0)
	old := o.issue(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	s.update = func(apikey.Key) error { cancel(); return ctx.Err() }
	if _, err := o.Rotate(ctx, "acme", old.ID, apikey.Rotation{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
	if ids := o.ids(t); len(ids) != 1 || ids[0] != old.ID {
		t.Errorf("keys %q, want the old one alone", ids)
	}
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

// Without a list of the keys nobody knows which is the last with scope admin.
func TestRevokeButLastWithoutAList(t *testing.T) {
	o, s := newMeddled(t, 0)
	k := o.issue(t, func(r *apikey.IssueRequest) { r.Scope = apikey.ScopeAdmin })
	s.list = func() error { return errDown }
	if _, err := o.RevokeButLast(t.Context(), "acme", k.ID); !errors.Is(err, errDown) {
		t.Errorf("error %v, want the store's", err)
	}
	if got := o.who(t, k.Secret); got != k.ID {
		t.Errorf("the last key with scope admin: %s", got)
	}
}

// Who waits for another's revocation waits no longer than the context.
func TestRevokeButLastWaitsForItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, s := newMeddled(t, 0)
		k := o.issue(t, nil)
		going := make(chan struct{})
		s.list = func() error { <-going; return nil }
		done := make(chan error)
		go func() {
			_, err := o.RevokeButLast(t.Context(), "acme", k.ID)
			done <- err
		}()
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := o.RevokeButLast(ctx, "acme", k.ID); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v, want that of the context", err)
		}
		close(going)
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// The last key with scope admin is not revoked for the sake of the one that a rotation is
// about to put in its place: the rotation may yet fail.
func TestRevokeButLastBesideARotation(t *testing.T) {
	for _, fails := range []error{nil, errDown} {
		synctest.Test(t, func(t *testing.T) {
			o, s := newMeddled(t, 0)
			old := o.issue(t, func(r *apikey.IssueRequest) { r.Scope = apikey.ScopeAdmin })
			revoked := make(chan error, 1)
			s.update = func(apikey.Key) error {
				s.update = nil
				go func() {
					_, err := o.RevokeButLast(t.Context(), "acme", old.ID)
					revoked <- err
				}()
				synctest.Wait()
				return fails
			}
			next, err := o.Rotate(t.Context(), "acme", old.ID, apikey.Rotation{Grace: time.Hour})
			if !errors.Is(err, fails) {
				t.Errorf("Rotate: error %v, want %v", err, fails)
			}
			want, admin := error(nil), next.Secret
			if fails != nil {
				want, admin = apikey.ErrLastAdmin, old.Secret
			}
			if err := <-revoked; !errors.Is(err, want) {
				t.Errorf("Update fails with %v: RevokeButLast: error %v, want %v", fails, err, want)
			}
			if p, err := o.Authenticate(t.Context(), admin); err != nil || !p.Scope.CanAdmin() {
				t.Errorf("Update fails with %v: the last key with scope admin: %+v, %v", fails, p, err)
			}
		})
	}
}
