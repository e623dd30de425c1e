package billing_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// A handler holds the price back, and commits it once the answer is out.
func ExampleHold() {
	ctx := context.Background()
	ledger := memory.New(memory.Options{}).Ports().Ledger
	topUp := billing.Entry{ID: "invoice 1", Owner: "acme", Kind: billing.KindTopUp, Amount: 2 * billing.Credit}
	if err := ledger.Append(ctx, topUp); err != nil {
		fmt.Println(err)
		return
	}
	serve := func(id string, handle func() error) (status int) {
		price := billing.Presets{}.Request("users")
		charge, err := billing.Hold(ctx, ledger, billing.Request{ID: id, Owner: "acme", Endpoint: "users", Price: price})
		if errors.Is(err, billing.ErrInsufficient) {
			return 402
		}
		if err != nil {
			return 503
		}
		defer charge.Release(ctx) // nothing after Commit
		if err := handle(); err != nil {
			return 502
		}
		if err := charge.Commit(ctx); err != nil {
			fmt.Println("not charged:", err)
		}
		return 200
	}
	good, bad := func() error { return nil }, func() error { return errors.New("upstream failed") }
	fmt.Println(serve("request 1", good), serve("request 2", bad), serve("request 3", good), serve("request 4", good))
	left, err := ledger.Balance(ctx, "acme")
	fmt.Println(left.Available/billing.Credit, left.Reserved, err)
	// Output:
	// 200 502 200 402
	// 0 0 <nil>
}

// streams is what a Meter needs to know of streams; those of an engine come
// with it.
type streams struct {
	list   []billing.Stream
	paused func()
}

func (s streams) Each(_ context.Context, fn func(billing.Stream) error) error {
	for _, st := range s.list {
		if err := fn(st); err != nil {
			return err
		}
	}
	return nil
}

func (s streams) Pause(_ context.Context, st billing.Stream) error {
	fmt.Println("paused:", st.Name)
	s.paused()
	return nil
}

func (s streams) Resume(_ context.Context, st billing.Stream) error {
	fmt.Println("resumed:", st.Name)
	return nil
}

// A meter outside of an engine. In one, Config.Billing is all it takes.
func ExampleMeter() {
	ledger := memory.New(memory.Options{}).Ports().Ledger
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if err := ledger.Append(ctx, billing.Entry{ID: "invoice 1", Owner: "acme", Amount: 100 * billing.Credit}); err != nil {
		fmt.Println(err)
		return
	}
	price := billing.Presets{}.Monitor(1) // 1,667 credits a day, 70 an hour
	meter, err := billing.NewMeter(billing.MeterConfig{
		Ledger: ledger,
		Streams: streams{[]billing.Stream{
			{Kind: billing.KindMonitor, ID: "mon_1", Owner: "acme", Name: "space", Accounts: 1, Price: price},
			{Kind: billing.KindMonitor, ID: "mon_2", Owner: "acme", Name: "sports", Accounts: 1, Price: price},
		}, cancel},
		Thresholds: []billing.Credits{100 * billing.Credit},
		OnThreshold: func(t billing.Threshold) {
			fmt.Println(t.Owner, "has at most", t.Mark/billing.Credit, "credits left")
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(meter.Run(ctx))
	// Output:
	// acme has at most 100 credits left
	// paused: sports
	// <nil>
}
