package outdated

import "github.com/streamwatch/streamwatch/deliver"

// Claim holds the attempts recorded while a call of Outbox.Claim is under way. The caller
// guards it. The zero value is for no call.
type Claim struct {
	attempts map[string]int // number of the last attempt, by delivery; nil without a call
}

// Begin begins a call.
func (c *Claim) Begin() { c.attempts = map[string]int{} }

// Record notes the settlement of a delivery that the outbox has stored.
func (c *Claim) Record(st *deliver.Settlement) {
	if c.attempts != nil && st.Attempt != nil {
		c.attempts[st.DeliveryID] = st.Attempt.N
	}
}

// Has reports whether a delivery was claimed before its last attempt was recorded. The
// claim is void then.
func (c *Claim) Has(dv *deliver.Delivery) bool { return dv.Attempts < c.attempts[dv.ID] }

// End ends the call.
func (c *Claim) End() { c.attempts = nil }
