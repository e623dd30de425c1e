package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/storage"
)

// Errors of a FaultyStore.
var (
	// ErrStoreFault is what a call answers that was made to fail.
	ErrStoreFault = errors.New("storetest: the store was made to fail")
	// ErrStoreDied is what every call answers once the store has died.
	ErrStoreDied = errors.New("storetest: the store was made to die")
)

// StoreFault is what goes wrong with a call.
type StoreFault int

// Faults of a store. After means that the call has taken effect and its answer
// is lost, as when a connection breaks; a call that fails by itself keeps its
// own error.
const (
	FailBefore StoreFault = iota // nothing happens: ErrStoreFault
	FailAfter                    // it happens: ErrStoreFault
	DieBefore                    // nothing happens, in this call and later ones: ErrStoreDied
	DieAfter                     // it happens, and nothing more: ErrStoreDied
	DelayOnly                    // it happens, FaultPlan.Delay later
)

// FaultPlan says which calls go wrong, and how. The zero value fails every call.
type FaultPlan struct {
	// Method is role and method, such as "Journal.Commit"; "" is any of them.
	// Close never goes wrong unless the store has died.
	Method string
	// Call is which call of the method it is, from 1; 0 is every call.
	Call int
	Do   StoreFault
	// Delay is how long the call waits before anything else. A context that
	// ends meanwhile ends the call with its error and without effect.
	Delay time.Duration
}

// FaultyStore makes calls of a store go wrong, to test what depends on it: a
// service has to survive each fault at each call. Wrap again for a second
// fault. It is safe for concurrent use, and panics on a Method that no store
// has. What a store that died was made of is the caller's still: end it, or go
// on with it as the process after a crash would.
func FaultyStore(s storage.Store, plan FaultPlan) storage.Store {
	known := plan.Method == ""
	for _, c := range storeCalls() {
		known = known || plan.Method == c.role+"."+c.method
	}
	if !known {
		panic(fmt.Sprintf(`storetest: FaultPlan.Method %q is not allowed: want role and method, such as "Journal.Commit", or none for any`, plan.Method))
	}
	if plan.Call < 0 || plan.Delay < 0 || plan.Do < FailBefore || plan.Do > DelayOnly {
		panic(fmt.Sprintf("storetest: FaultPlan %+v is not allowed: want Call and Delay not below 0, and a StoreFault", plan))
	}
	return &faultyStore{Store: s, plan: plan}
}

type faultyStore struct {
	storage.Store
	plan FaultPlan

	mu    sync.Mutex
	calls int // of those that plan.Method names
	dead  bool
}

// begin counts a call, and says what happens to it.
func (f *faultyStore) begin(method string) (hit, dead bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.dead {
		return false, true
	}
	if f.plan.Method != "" && f.plan.Method != method {
		return false, false
	}
	f.calls++
	return f.plan.Call == 0 || f.plan.Call == f.calls, false
}

func (f *faultyStore) die() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dead = true
}

// call makes one call as the plan has it.
func (f *faultyStore) call(ctx context.Context, method string, do func() error) error {
	hit, dead := f.begin(method)
	switch {
	case dead:
		return ErrStoreDied
	case !hit:
		return do()
	}
	if f.plan.Delay > 0 {
		if err := sleep(ctx, f.plan.Delay); err != nil {
			return err
		}
	}
	switch f.plan.Do {
	case FailBefore:
		return ErrStoreFault
	case FailAfter:
		if err := do(); err != nil {
			return err
		}
		return ErrStoreFault
	case DieBefore:
		f.die()
		return ErrStoreDied
	case DieAfter:
		f.die()
		if err := do(); err != nil {
			return err
		}
		return ErrStoreDied
	}
	return do()
}

// answer is call for a method with a result; a failed one has none.
func answer[T any](ctx context.Context, f *faultyStore, method string, do func() (T, error)) (T, error) {
	var v, none T
	err := f.call(ctx, method, func() (err error) {
		v, err = do()
		return err
	})
	if err != nil {
		return none, err
	}
	return v, nil
}

// Close closes the real store, unless the faulty one has died.
func (f *faultyStore) Close(ctx context.Context) error {
	f.mu.Lock()
	dead := f.dead
	f.mu.Unlock()
	if dead {
		return ErrStoreDied
	}
	return f.Store.Close(ctx)
}
