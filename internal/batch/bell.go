package batch

// Bell wakes the goroutine that receives from it. If the goroutine is not receiving, its next
// receive returns immediately. Several rings before it count as one.
type Bell chan struct{}

// NewBell returns a bell that has not been rung.
func NewBell() Bell { return make(Bell, 1) }

// Ring rings the bell. It does not block.
func (b Bell) Ring() {
	select {
	case b <- struct{}{}:
	default:
	}
}
