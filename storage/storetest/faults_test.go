package storetest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/memory"
	"github.com/streamwatch/streamwatch/storage/storetest"
)

// A call whose answer was lost has not failed: when it is repeated, the store knows the
// event, and the outbox has its delivery.
func ExampleFaultyStore() {
	ctx := context.Background()
	store := storetest.FaultyStore(memory.New(memory.Options{}), storetest.FaultPlan{
		Method: "Journal.Commit", Call: 1, Do: storetest.FailAfter,
	})
	found := &detect.Batch{Events: []deliver.Event{{
		ID: "evt_1", Source: deliver.Source{ID: "mon_1", Owner: "acme"}, Body: []byte("{}"), Handlers: []string{"log"},
	}}}
	fmt.Println(store.Ports().Journal.Commit(ctx, []*detect.Batch{found}))
	fmt.Println(store.Ports().Journal.Commit(ctx, []*detect.Batch{found}), found.Events[0].Seq)
	due, err := store.Ports().Outbox.Claim(ctx, deliver.ClaimRequest{Now: time.Now(), Lease: time.Minute, Limit: 10})
	fmt.Println(len(due), err)
	// Output:
	// storetest: the store was made to fail
	// <nil> 0
	// 1 <nil>
}

// topUp appends an entry of 1 with the id of the call, and returns the error.
func topUp(t *testing.T, l billing.Ledger, call int) error {
	t.Helper()
	return l.Append(t.Context(), billing.Entry{ID: fmt.Sprint(call), Owner: "acme", Amount: 1})
}

func TestFaultyStore(t *testing.T) {
	failed, died := storetest.ErrStoreFault, storetest.ErrStoreDied
	for _, row := range []struct {
		name  string
		plan  storetest.FaultPlan
		want  [4]error        // of four calls of Ledger.Append
		there billing.Credits // how many of them took effect
	}{
		{"the zero value fails every call", storetest.FaultPlan{}, [4]error{failed, failed, failed, failed}, 0},
		{"fail before the second", storetest.FaultPlan{Call: 2}, [4]error{nil, failed, nil, nil}, 3},
		{"fail after the second", storetest.FaultPlan{Call: 2, Do: storetest.FailAfter}, [4]error{nil, failed, nil, nil}, 4},
		{"die before the second", storetest.FaultPlan{Call: 2, Do: storetest.DieBefore}, [4]error{nil, died, died, died}, 1},
		{"die after the second", storetest.FaultPlan{Call: 2, Do: storetest.DieAfter}, [4]error{nil, died, died, died}, 2},
		{"of a method by name", storetest.FaultPlan{Method: "Ledger.Append", Call: 4}, [4]error{nil, nil, nil, failed}, 3},
		{"of another method", storetest.FaultPlan{Method: "Journal.Commit"}, [4]error{}, 4},
	} {
		t.Run(row.name, func(t *testing.T) {
			real := memory.New(memory.Options{})
			s := storetest.FaultyStore(real, row.plan)
			for i, want := range row.want {
				if err := topUp(t, s.Ports().Ledger, i); !errors.Is(err, want) {
					t.Errorf("call %d: error = %v, want %v", i+1, err, want)
				}
			}
			b, err := real.Ports().Ledger.Balance(t.Context(), "acme")
			if err != nil || b.Available != row.there {
				t.Errorf("%d calls took effect, want %d (error %v)", b.Available, row.there, err)
			}
			// A store that died leaves the real one open.
			err = s.Close(t.Context())
			if dead := errors.Is(row.want[3], died); errors.Is(err, died) != dead || (topUp(t, real.Ports().Ledger, 9) == nil) != dead {
				t.Errorf("Close answered %v, and the real store is open: want both only after death", err)
			}
		})
	}
}

// some is a store with some ports.
type some struct {
	storage.Store
	ports storage.Ports
}

func (s some) Ports() storage.Ports { return s.ports }

// A faulty store has the ports of the one below and no others.
func TestFaultyStoreKeepsItsPorts(t *testing.T) {
	all := memory.New(memory.Options{}).Ports()
	alone := all
	alone.Members, alone.Signals, alone.Sweeper = nil, nil, nil
	for name, below := range map[string]storage.Ports{"all": all, "of one engine": alone} {
		t.Run(name, func(t *testing.T) {
			p := storetest.FaultyStore(some{ports: below}, storetest.FaultPlan{}).Ports()
			if (p.Members == nil) != (below.Members == nil) || (p.Signals == nil) != (below.Signals == nil) || (p.Sweeper == nil) != (below.Sweeper == nil) {
				t.Errorf("ports %+v of %+v", p, below)
			}
			if p.Sweeper == nil {
				return
			}
			if _, err := p.Sweeper.Sweep(t.Context(), "acme"); !errors.Is(err, storetest.ErrStoreFault) {
				t.Errorf("Sweep = %v, want the fault", err)
			}
		})
	}
}

func TestFaultyStoreKeepsTheCallsOwnError(t *testing.T) {
	for _, do := range []storetest.StoreFault{storetest.FailAfter, storetest.DieAfter} {
		s := storetest.FaultyStore(memory.New(memory.Options{}), storetest.FaultPlan{Do: do})
		if err := s.Ports().Ledger.Release(t.Context(), "unknown"); !errors.Is(err, billing.ErrNotFound) {
			t.Errorf("error = %v, want the ledger's", err)
		}
	}
}

func TestFaultyStoreDelays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := storetest.FaultyStore(memory.New(memory.Options{}), storetest.FaultPlan{Call: 1, Do: storetest.DelayOnly, Delay: time.Minute})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begun := time.Now()
		if err := s.Ports().Ledger.Append(ctx, billing.Entry{ID: "1", Owner: "acme", Amount: 1}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error = %v, want the context's", err)
		}
		if err := topUp(t, s.Ports().Ledger, 2); err != nil || time.Since(begun) != time.Second {
			t.Errorf("the second call took until %v with error %v, want no delay", time.Since(begun), err)
		}
		s = storetest.FaultyStore(memory.New(memory.Options{}), storetest.FaultPlan{Do: storetest.DelayOnly, Delay: time.Minute})
		begun = time.Now()
		if err := topUp(t, s.Ports().Ledger, 1); err != nil || time.Since(begun) != time.Minute {
			t.Errorf("the call took %v with error %v, want a minute and success", time.Since(begun), err)
		}
	})
}

func TestFaultyStoreRefuses(t *testing.T) {
	for _, row := range []struct {
		plan storetest.FaultPlan
		want string
	}{
		{storetest.FaultPlan{Method: "Journal.Comit"}, `"Journal.Comit" is not allowed`},
		{storetest.FaultPlan{Method: "Close"}, `"Close" is not allowed`},
		{storetest.FaultPlan{Call: -1}, "not below 0"},
		{storetest.FaultPlan{Delay: -1}, "not below 0"},
		{storetest.FaultPlan{Do: 99}, "a StoreFault"},
	} {
		t.Run(row.want, func(t *testing.T) {
			defer func() {
				if r := fmt.Sprint(recover()); !strings.Contains(r, row.want) {
					t.Errorf("panic %q, want one with %q", r, row.want)
				}
			}()
			storetest.FaultyStore(memory.New(memory.Options{}), row.plan)
		})
	}
}
