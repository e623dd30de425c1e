package storetest

import (
	"errors"
	"reflect"
	"testing"

	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// The suite has a call of every method of every role.
func TestCallsAreAllThereAre(t *testing.T) {
	called := map[string]bool{}
	for _, c := range storeCalls() {
		called[c.role+"."+c.method] = true
	}
	store := reflect.TypeFor[storage.Store]()
	for _, role := range storeRoleNames {
		m, ok := store.MethodByName(role)
		if !ok {
			t.Fatalf("a store has no %s", role)
		}
		for i := range m.Type.Out(0).NumMethod() {
			if name := role + "." + m.Type.Out(0).Method(i).Name; !called[name] {
				t.Errorf("%s is never called", name)
			}
		}
	}
}

// Every method of every role can fail, under its own name and no other.
func TestFaultyStoreReachesEveryMethod(t *testing.T) {
	for _, planned := range storeCalls() {
		t.Run(planned.role+"."+planned.method, func(t *testing.T) {
			for _, c := range storeCalls() {
				one := &storeTest{TB: t, store: memory.New(memory.Options{})}
				one.furnish()
				s := FaultyStore(one.store, FaultPlan{Method: planned.role + "." + planned.method})
				err := c.do(t.Context(), s, one.start)
				if hit := c.role == planned.role && c.method == planned.method; hit != errors.Is(err, ErrStoreFault) {
					t.Errorf("%s.%s: error = %v", c.role, c.method, err)
				}
			}
		})
	}
}
