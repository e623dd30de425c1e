package billing_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/storage/memory"
	"github.com/streamwatch/streamwatch/storage/storetest"
)

// till is a ledger that fails its next calls when told to, before or after they
// have taken effect.
type till struct {
	billing.Ledger
	clock         *storetest.Clock
	before, after int
}

func newTill(t *testing.T, credits billing.Credits) *till {
	t.Helper()
	clock := storetest.NewClock()
	l := &till{Ledger: memory.New(memory.Options{Now: clock.Now}).Ports().Ledger, clock: clock}
	if err := l.Append(t.Context(), billing.Entry{ID: "top-up", Owner: "acme", Kind: billing.KindTopUp, Amount: credits}); err != nil {
		t.Fatal(err)
	}
	return l
}

func (l *till) fail(call func() error) error {
	if l.before > 0 {
		l.before--
		return errDown
	}
	err := call()
	if l.after > 0 {
		l.after--
		return errDown
	}
	return err
}

func (l *till) Commit(ctx context.Context, id string, e billing.Entry) error {
	return l.fail(func() error { return l.Ledger.Commit(ctx, id, e) })
}

func (l *till) Release(ctx context.Context, id string) error {
	return l.fail(func() error { return l.Ledger.Release(ctx, id) })
}

func (l *till) hold(t *testing.T, id string) *billing.Charge {
	t.Helper()
	c, err := billing.Hold(t.Context(), l, billing.Request{ID: id, Owner: "acme", Endpoint: "users", Tier: "gold", Price: 2, At: l.clock.Now()})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (l *till) has(t *testing.T) string {
	t.Helper()
	b, err := l.Balance(t.Context(), "acme")
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%d+%d", b.Available, b.Reserved)
}

// After any steps of a request of 2, of 10: what there is and what is held.
func TestChargeOfARequest(t *testing.T) {
	commit := func(c *billing.Charge) error { return c.Commit(context.Background()) }
	release := func(c *billing.Charge) error { return c.Release(context.Background()) }
	type steps = []func(*billing.Charge) error
	for _, row := range []struct {
		name          string
		before, after int
		steps         steps
		errs          []error
		want          string
	}{
		{"held", 0, 0, nil, nil, "8+2"},
		{"committed", 0, 0, steps{commit}, []error{nil}, "8+0"},
		{"committed, and released when the handler returns", 0, 0, steps{commit, release}, []error{nil, nil}, "8+0"},
		{"committed twice", 0, 0, steps{commit, commit}, []error{nil, nil}, "8+0"},
		{"released", 0, 0, steps{release}, []error{nil}, "10+0"},
		{"released twice", 0, 0, steps{release, release}, []error{nil, nil}, "10+0"},
		{"committed too late", 0, 0, steps{release, commit}, []error{nil, billing.ErrResolved}, "10+0"},
		{"a commit that fails is not released", 1, 0, steps{commit, release}, []error{errDown, nil}, "8+2"},
		{"a commit that fails can be made again", 1, 0, steps{commit, release, commit}, []error{errDown, nil, nil}, "8+0"},
		{"a commit whose answer is lost is one charge", 0, 1, steps{commit, release, commit}, []error{errDown, nil, nil}, "8+0"},
		{"a release that fails is not committed", 1, 0, steps{release, commit, release}, []error{errDown, billing.ErrResolved, nil}, "10+0"},
		{"a release whose answer is lost", 0, 1, steps{release, release}, []error{errDown, nil}, "10+0"},
	} {
		t.Run(row.name, func(t *testing.T) {
			l := newTill(t, 10)
			c := l.hold(t, "r")
			l.before, l.after = row.before, row.after
			for i, step := range row.steps {
				if err := step(c); !errors.Is(err, row.errs[i]) || (err == nil) != (row.errs[i] == nil) {
					t.Errorf("step %d: %v, want %v", i+1, err, row.errs[i])
				}
			}
			want(t, "balance", l.has(t), row.want)
		})
	}
}

func TestChargeSaysWhatItIsFor(t *testing.T) {
	l := newTill(t, 10)
	c := l.hold(t, "r")
	want(t, "price", c.Price(), 2)
	if err := c.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	p, err := l.Entries(t.Context(), billing.EntryQuery{Owner: "acme"})
	if err != nil {
		t.Fatal(err)
	}
	want(t, "entry", p.Entries[0], billing.Entry{ID: "r", Owner: "acme", Kind: billing.KindRequest, Amount: -2, At: l.clock.Now(),
		Endpoint: "users", TierLabel: "gold", Balance: 8})
}

func TestFailedRequestsCostNothing(t *testing.T) {
	for name, handle := range map[string]func(gone context.CancelFunc){
		"an error":              func(context.CancelFunc) {},
		"a panic":               func(context.CancelFunc) { panic("handler") },
		"a client that is gone": func(gone context.CancelFunc) { gone() },
	} {
		t.Run(name, func(t *testing.T) {
			l := newTill(t, 10)
			ctx, gone := context.WithCancel(t.Context())
			defer gone()
			func() {
				defer func() { recover() }()
				c := l.hold(t, "r")
				defer func() {
					if err := c.Release(ctx); err != nil {
						t.Error(err)
					}
				}()
				handle(gone)
			}()
			want(t, "balance", l.has(t), "10+0")
		})
	}
	t.Run("a process that died", func(t *testing.T) {
		l := newTill(t, 10)
		l.hold(t, "r")
		l.clock.Advance(time.Minute)
		want(t, "balance", l.has(t), "10+0")
	})
}

func TestHold(t *testing.T) {
	for _, row := range []struct {
		name string
		req  billing.Request
		err  error
		want string
	}{
		{"of more than there is", billing.Request{ID: "r", Owner: "acme", Price: 11}, billing.ErrInsufficient, "10+0"},
		{"of all there is", billing.Request{ID: "r", Owner: "acme", Price: 10}, nil, "0+10"},
		{"of nothing", billing.Request{ID: "r", Owner: "acme"}, nil, "10+0"},
		{"of an id that is under way", billing.Request{ID: "open", Owner: "acme", Price: 5}, nil, "8+2"},
		{"of an id that was charged", billing.Request{ID: "top-up", Owner: "acme", Price: 5}, billing.ErrResolved, "10+0"},
	} {
		t.Run(row.name, func(t *testing.T) {
			l := newTill(t, 10)
			if row.req.ID == "open" {
				l.hold(t, "open")
			}
			row.req.At = l.clock.Now()
			c, err := billing.Hold(t.Context(), l, row.req)
			if !errors.Is(err, row.err) || (c == nil) != (err != nil) {
				t.Errorf("%v, %v, want error %v", c, err, row.err)
			}
			want(t, "balance", l.has(t), row.want)
		})
	}
	if _, err := billing.Hold(t.Context(), newTill(t, 1), billing.Request{ID: "r", Owner: "acme", Price: -1}); err == nil {
		t.Error("a price below zero is allowed")
	}
}

// However many goroutines end a charge, the first of them decides.
func TestChargeIsDecidedOnce(t *testing.T) {
	for range 200 {
		l := newTill(t, 10)
		c := l.hold(t, "r")
		var committed error
		var wg sync.WaitGroup
		wg.Go(func() { committed = c.Commit(t.Context()) })
		wg.Go(func() { c.Release(t.Context()) })
		wg.Wait()
		if got, charged := l.has(t), committed == nil; charged && got != "8+0" || !charged && got != "10+0" {
			t.Fatalf("Commit gave %v, and there is %s", committed, got)
		}
	}
}
