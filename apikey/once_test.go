package apikey_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/apikey"
)

// once issues a key of acme with a Once.
func (o office) once(t *testing.T, scope apikey.Scope) (apikey.Issued, error) {
	t.Helper()
	return o.Issue(t.Context(), apikey.IssueRequest{Owner: "acme", Name: "n", Scope: scope, Once: "bootstrap", OnceWithin: time.Minute})
}

// A Once replaces a key that was issued within OnceWithin, whichever way the clock was set
// since, and no older one.
func TestIssueOnceReplacesNoOldKey(t *testing.T) {
	for _, row := range []struct {
		later    time.Duration
		replaced bool
	}{{0, true}, {time.Minute - 1, true}, {time.Minute, false}, {24 * time.Hour, false}, {-time.Minute, false}} {
		o := newOffice(t, nil)
		first, err := o.once(t, "")
		if err != nil {
			t.Fatal(err)
		}
		o.clock.Advance(row.later)
		second, err := o.once(t, "")
		if err != nil {
			t.Fatal(err)
		}
		if got := o.who(t, first.Secret); (got == invalid) != row.replaced {
			t.Errorf("%s later the first key is %s, replaced = %t", row.later, got, row.replaced)
		}
		if got := o.who(t, second.Secret); got != second.ID {
			t.Errorf("%s later the second key is %s", row.later, got)
		}
	}
}

// A repetition of the repetition of an old request replaces the key of the first repetition.
func TestIssueOnceBesideAnOldKey(t *testing.T) {
	o := newOffice(t, nil)
	old, err := o.once(t, "")
	if err != nil {
		t.Fatal(err)
	}
	o.clock.Advance(time.Hour)
	second, err := o.once(t, "")
	if err != nil {
		t.Fatal(err)
	}
	third, err := o.once(t, "")
	if err != nil {
		t.Fatal(err)
	}
	if o.who(t, old.Secret) != old.ID || o.who(t, second.Secret) != invalid || o.who(t, third.Secret) != third.ID {
		t.Errorf("keys %q, want the old one and the third", o.ids(t))
	}
}

// The last valid key with the scope admin is replaced by another with that scope alone.
func TestIssueOnceKeepsTheLastAdmin(t *testing.T) {
	for _, row := range []struct {
		scope    apikey.Scope
		another  bool          // there is another key with the scope admin
		lasts    time.Duration // which ends after so long, 0 for never
		replaced bool
	}{{apikey.ScopeRead, false, 0, false}, {apikey.ScopeRead, true, 0, true}, {apikey.ScopeRead, true, time.Hour, false}, {apikey.ScopeAdmin, false, 0, true}} {
		o := newOffice(t, nil)
		first, err := o.once(t, apikey.ScopeAdmin)
		if err != nil {
			t.Fatal(err)
		}
		if row.another {
			o.issue(t, func(r *apikey.IssueRequest) {
				r.Scope = apikey.ScopeAdmin
				if row.lasts > 0 {
					r.ExpiresAt = o.clock.Now().Add(row.lasts)
				}
			})
		}
		if _, err := o.once(t, row.scope); err != nil {
			t.Fatal(err)
		}
		if got := o.who(t, first.Secret); (got == invalid) != row.replaced {
			t.Errorf("%+v: the first key is %s", row, got)
		}
	}
}

// A failure leaves the key that was to be replaced, or the new one.
func TestIssueOnceThatTheStoreFails(t *testing.T) {
	for name, fail := range map[string]func(*meddled){
		"list":   func(s *meddled) { s.list = func() error { return errDown } },
		"create": func(s *meddled) { s.create = func() error { return errDown } },
		"delete": func(s *meddled) { s.delete = func() error { return errDown } },
	} {
		o, s := newMeddled(t, 0)
		first, err := o.once(t, "")
		if err != nil {
			t.Fatal(err)
		}
		fail(s)
		if _, err := o.once(t, ""); !errors.Is(err, errDown) {
			t.Errorf("%s fails: error %v, want the store's", name, err)
		}
		if got := o.who(t, first.Secret); got != first.ID {
			t.Errorf("%s fails: the first key is %s", name, got)
		}
		s.list, s.create, s.delete = nil, nil, nil
		third, err := o.once(t, "")
		if err != nil {
			t.Fatal(err)
		}
		if ids := o.ids(t); len(ids) != 1 || ids[0] != third.ID {
			t.Errorf("%s fails: keys %q after a repetition, want its key alone", name, ids)
		}
	}
}

// lostReply is a store whose answer to Create is lost.
type lostReply struct{ apikey.Store }

func (s lostReply) Create(ctx context.Context, k apikey.Key) error {
	return errors.Join(s.Store.Create(ctx, k), errDown)
}

// A key that may have been stored is named with the error, without its secret. Rotate
// removes it.
func TestKeyOfUnknownOutcome(t *testing.T) {
	o, s := newMeddled(t, 0)
	old := o.issue(t, nil)
	s.Store = lostReply{s.Store}
	if _, err := o.Rotate(t.Context(), "acme", old.ID, apikey.Rotation{}); !errors.Is(err, errDown) {
		t.Errorf("Rotate: error %v, want the store's", err)
	}
	if ids := o.ids(t); len(ids) != 1 || ids[0] != old.ID {
		t.Errorf("after Rotate the keys are %q, want the old one alone", ids)
	}
	k, err := o.Issue(t.Context(), apikey.IssueRequest{Owner: "acme", Name: "n"})
	if ids := o.ids(t); !errors.Is(err, errDown) || len(ids) != 2 || k.ID != ids[1] || k.Secret != "" {
		t.Errorf("Issue: %+v, error %v, want the record of one of %q", k, err, ids)
	}
}

func TestIssueRefusesANegativeOnceWithin(t *testing.T) {
	o := newOffice(t, nil)
	_, err := o.Issue(t.Context(), apikey.IssueRequest{Owner: "acme", Name: "n", Once: "x", OnceWithin: -1})
	var field *apikey.FieldError
	if !errors.As(err, &field) || field.Field != "once_within" {
		t.Errorf("error %v, want a FieldError of once_within", err)
	}
}
