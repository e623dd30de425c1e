package storetest

import (
	"errors"
	"reflect"
	"testing"
	"testing/synctest"

	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// The suite has a call of every method of every role.
func TestCallsAreAllThereAre(t *testing.T) {
	called := map[string]bool{}
	for _, c := range storeCalls() {
		called[c.role+"."+c.method] = true
	}
	for _, c := range fleetCalls() {
		called[c.role+"."+c.method] = true
	}
	called["Signals.Receive"], called["Sweeper.Sweep"] = true, true // have cases of their own
	ports := reflect.TypeFor[storage.Ports]()
	for i := range ports.NumField() {
		for j := range ports.Field(i).Type.NumMethod() {
			if name := ports.Field(i).Name + "." + ports.Field(i).Type.Method(j).Name; !called[name] {
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

// Of a store that several engines may share every method can fail, too.
func TestFaultyStoreReachesTheFleet(t *testing.T) {
	for _, planned := range fleetCalls() {
		t.Run(planned.role+"."+planned.method, func(t *testing.T) {
			for _, c := range fleetCalls() {
				data := memory.New(memory.Options{})
				st, err := data.Ports().Members.Join(t.Context(), fleet.Node{Name: "n", Weight: 1, Lease: longLease})
				if err != nil {
					t.Fatal(err)
				}
				s := FaultyStore(data, FaultPlan{Method: planned.role + "." + planned.method})
				err = c.do(t.Context(), s, st.Fence)
				if hit := c.role == planned.role && c.method == planned.method; hit != errors.Is(err, ErrStoreFault) {
					t.Errorf("%s.%s: error = %v", c.role, c.method, err)
				}
			}
		})
	}
}

// A store that dies ends what receives.
func TestFaultyStoreEndsReceive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := FaultyStore(memory.New(memory.Options{}), FaultPlan{Method: "Signals.Send", Call: 1, Do: DieBefore})
		returned := make(chan error, 1)
		go func() { returned <- s.Ports().Signals.Receive(t.Context(), func(fleet.Signal) {}) }()
		synctest.Wait()
		if err := s.Ports().Signals.Send(t.Context(), fleet.Signal{}); !errors.Is(err, ErrStoreDied) {
			t.Errorf("Send: error = %v, want %v", err, ErrStoreDied)
		}
		if err := <-returned; !errors.Is(err, ErrStoreDied) {
			t.Errorf("Receive: error = %v, want %v", err, ErrStoreDied)
		}
	})
}
