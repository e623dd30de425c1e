package billing

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Request is a request that an owner pays for.
type Request struct {
	// ID is unique over all owners. Two requests with the same ID are one charge.
	ID       string
	Owner    string
	Endpoint string
	Tier     string  // TierLabel of the entry; may be ""
	Price    Credits // 0 for a free request
	// HoldFor is how long the credits stay reserved if neither Commit nor Release is called, for
	// example after a crash. It must be longer than any request takes. Defaults to 60 s.
	HoldFor time.Duration
	// At is when the request arrived. Defaults to time.Now.
	At time.Time
}

// Charge keeps the price of a request reserved until Commit or Release:
//
//	charge, err := billing.Hold(ctx, ledger, request) // ErrInsufficient: 402
//	…
//	defer charge.Release(ctx) // also after an error or a panic
//	… answer …
//	err = charge.Commit(ctx)  // after the answer was sent; Release then does nothing
//
// The first call decides. After Commit, even one that failed, Release does nothing. After
// Release, Commit returns ErrResolved. Both may be repeated, and work even if ctx has ended. A
// Charge is safe for concurrent use.
type Charge struct {
	ledger Ledger
	req    Request

	mu      sync.Mutex
	decided decision
	done    bool // the ledger has carried out decided
}

type decision uint8

const (
	undecided decision = iota
	commit
	release
)

// settleTimeout limits how long a Commit or Release may take.
const settleTimeout = 5 * time.Second

// Hold reserves a request's price. It returns ErrInsufficient if the balance does not cover the
// price, and ErrResolved if a request with the same ID has been committed or released. Concurrent
// requests with the same ID are one charge.
func Hold(ctx context.Context, l Ledger, r Request) (*Charge, error) {
	if r.Price < 0 || r.HoldFor < 0 {
		return nil, fmt.Errorf("billing: a request of price %d held for %s is not allowed: want neither below 0", r.Price, r.HoldFor)
	}
	if r.HoldFor == 0 {
		r.HoldFor = time.Minute
	}
	if r.At.IsZero() {
		r.At = time.Now()
	}
	c := &Charge{ledger: l, req: r, done: r.Price == 0}
	if c.done {
		return c, nil
	}
	if err := l.Reserve(ctx, Reservation{ID: r.ID, Owner: r.Owner, Amount: r.Price, ExpiresAt: r.At.Add(r.HoldFor)}); err != nil {
		return nil, err
	}
	return c, nil
}

// Commit charges the owner. After an error of the ledger, call Commit again. Otherwise the
// reservation ends after HoldFor, without a charge.
func (c *Charge) Commit(ctx context.Context) error {
	return c.settle(ctx, commit, func(ctx context.Context) error {
		return c.ledger.Commit(ctx, c.req.ID, Entry{Kind: KindRequest, At: c.req.At, Endpoint: c.req.Endpoint, TierLabel: c.req.Tier})
	})
}

// Release returns the credits to the owner. It does nothing after Commit.
func (c *Charge) Release(ctx context.Context) error {
	err := c.settle(ctx, release, func(ctx context.Context) error { return c.ledger.Release(ctx, c.req.ID) })
	if errors.Is(err, ErrResolved) {
		return nil
	}
	return err
}

// Price returns the amount that Commit charges.
func (c *Charge) Price() Credits { return c.req.Price }

func (c *Charge) settle(ctx context.Context, how decision, do func(context.Context) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.decided == undecided {
		c.decided = how
	}
	if c.decided != how {
		return ErrResolved
	}
	if c.done {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
	defer cancel()
	err := do(ctx)
	c.done = err == nil
	return err
}
