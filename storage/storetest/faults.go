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
	// ErrStoreFault is returned by a call that was made to fail.
	ErrStoreFault = errors.New("storetest: the store was made to fail")
	// ErrStoreDied is returned by every call once the store has died.
	ErrStoreDied = errors.New("storetest: the store was made to die")
)

// StoreFault is what goes wrong with a call.
type StoreFault int

// Faults of a store. With FailAfter and DieAfter the call takes effect and its answer is lost, as
// if a connection broke. A call that fails anyway returns its own error.
const (
	FailBefore StoreFault = iota // the call has no effect and returns ErrStoreFault
	FailAfter                    // the call takes effect and returns ErrStoreFault
	DieBefore                    // this and all later calls have no effect and return ErrStoreDied
	DieAfter                     // this call takes effect, later ones do not; all return ErrStoreDied
	DelayOnly                    // the call is made normally, FaultPlan.Delay later
)

// FaultPlan says which calls fail, and how. The zero value fails every call.
type FaultPlan struct {
	// Method is role and method, for example "Journal.Commit"; "" means all. Close fails only after
	// the store has died.
	Method string
	// Call is the number of the call of Method that fails, counted from 1; 0 means every call.
	Call int
	// Do is the fault.
	Do StoreFault
	// Delay is how long the call waits before the fault. If its context ends during the wait, the
	// call returns the context's error and has no effect.
	Delay time.Duration
}

// FaultyStore returns a store that fails the calls of plan and passes all others on to s. It is for
// tests of services, which must survive each fault at each call. To add a second fault, wrap the
// result again. The store is safe for concurrent use. FaultyStore panics if the plan is not
// allowed, for example if no store has its Method.
//
// After the faulty store has died, s still works. The caller must close it, and may use it before
// that, as the next process would after a crash.
//
// Ports that s does not have are nil in the faulty store, too.
func FaultyStore(s storage.Store, plan FaultPlan) storage.Store {
	known := plan.Method == ""
	for _, c := range storeCalls() {
		known = known || plan.Method == c.role+"."+c.method
	}
	for _, c := range fleetCalls() {
		known = known || plan.Method == c.role+"."+c.method
	}
	known = known || plan.Method == "Signals.Receive" || plan.Method == "Sweeper.Sweep"
	if !known {
		panic(fmt.Sprintf(`storetest: FaultPlan.Method %q is not allowed: want role and method, such as "Journal.Commit", or none for any`, plan.Method))
	}
	if plan.Call < 0 || plan.Delay < 0 || plan.Do < FailBefore || plan.Do > DelayOnly {
		panic(fmt.Sprintf("storetest: FaultPlan %+v is not allowed: want Call and Delay not below 0, and a StoreFault", plan))
	}
	return newFaultyStore(s, plan)
}

type faultyStore struct {
	storage.Store
	plan FaultPlan

	mu    sync.Mutex
	calls int // calls of plan.Method so far
	dead  bool

	life context.Context // ends when the store dies
	end  context.CancelFunc
}

func newFaultyStore(s storage.Store, plan FaultPlan) *faultyStore {
	f := &faultyStore{Store: s, plan: plan}
	f.life, f.end = context.WithCancel(context.Background())
	return f
}

// begin counts a call. hit means that the call must fail, dead that the store has died.
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
	f.end()
}

// call makes a call as the plan says.
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

// answer is like call, for a method with a result. The result is zero after an error.
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

// Close closes the wrapped store, unless the faulty one has died.
func (f *faultyStore) Close(ctx context.Context) error {
	f.mu.Lock()
	dead := f.dead
	f.mu.Unlock()
	if dead {
		return ErrStoreDied
	}
	return f.Store.Close(ctx)
}
