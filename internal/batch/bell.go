package batch

// Bell wakes one goroutine, which receives from it. If the goroutine is not receiving, any
// number of rings make its next receive return at once.
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
