package streamwatch

import "github.com/streamwatch/streamwatch/deliver/dispatch"

// Lane returns how an endpoint's deliveries stand in this process; false when it remembers
// nothing of them, as when nothing waits, fails or was sent lately, or when another node of
// a fleet sends to it. Lane does not check whose endpoint it is.
func (e *Engine) Lane(endpointID string) (dispatch.LaneStatus, bool) {
	return e.dispatcher.Lane(endpointID)
}

// Lanes returns up to limit of the lanes of all owners, those in trouble first: see
// dispatch.Dispatcher.Lanes.
func (e *Engine) Lanes(limit int) []dispatch.LaneStatus { return e.dispatcher.Lanes(limit) }
