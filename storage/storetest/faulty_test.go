package storetest

import (
	"errors"
	"testing"

	"github.com/streamwatch/streamwatch/storage/memory"
)

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
