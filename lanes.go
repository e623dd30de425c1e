package streamwatch

import "github.com/streamwatch/streamwatch/deliver/dispatch"

// Lane returns the state of an endpoint's deliveries in this process. It returns false if this
// process keeps no such state: another node of a fleet sends to the endpoint, or no delivery waits
// or fails. Lane does not check the endpoint's owner.
func (e *Engine) Lane(endpointID string) (dispatch.LaneStatus, bool) {
	return e.dispatcher.Lane(endpointID)
}

// Lanes returns up to limit lanes of all owners, those in trouble first: see
// dispatch.Dispatcher.Lanes.
func (e *Engine) Lanes(limit int) []dispatch.LaneStatus { return e.dispatcher.Lanes(limit) }
