package batch

// Bell wakes one goroutine, which receives from it. Rings that come before the
// goroutine listens count as one.
type Bell chan struct{}

// NewBell returns a bell that has not been rung.
func NewBell() Bell { return make(Bell, 1) }

// Ring wakes the goroutine, or has its next receive return at once. It does not
// block.
func (b Bell) Ring() {
	select {
	case b <- struct{}{}:
	default:
	}
}
