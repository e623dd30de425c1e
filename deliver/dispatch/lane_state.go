package dispatch

// recordState is the state of the endpoint's record in a lane.
type recordState uint8

const (
	recordUnread   recordState = iota // must be read before the next attempt
	recordReading                     // being read
	recordOutdated                    // being read, and changed since the read began
	recordActive                      // deliveries are sent
	recordRefusing                    // deliveries end unsent
	recordDeleted                     // the endpoint does not exist
)

// begun returns the state after a read has begun.
func (s recordState) begun() recordState {
	if s == recordOutdated {
		return s
	}
	return recordReading
}

// read returns the state after a read has ended with result. If the record was changed during the
// read, it must be read again.
func (s recordState) read(result recordState) recordState {
	switch s {
	case recordReading:
		return result
	case recordOutdated:
		return recordUnread
	}
	return s
}

// changed returns the state after the record was changed in the store.
func (s recordState) changed() recordState {
	if s.reading() {
		return recordOutdated
	}
	return recordUnread
}

// reading reports whether a worker reads the record now.
func (s recordState) reading() bool { return s == recordReading || s == recordOutdated }

// String returns the state as a word for an operator. A record that is being read is "unread".
func (s recordState) String() string {
	switch s {
	case recordActive:
		return "active"
	case recordRefusing:
		return "refusing"
	case recordDeleted:
		return "deleted"
	}
	return "unread"
}

// gateState says whether attempts may begin.
type gateState uint8

const (
	gateOpen    gateState = iota
	gateWaiting           // closed for a short time: the queue stays in memory
	gateParked            // closed for a long time: the queue went back to the outbox
)

// String returns a word for an operator.
func (g gateState) String() string { return [...]string{"open", "waiting", "parked"}[g] }

// pace describes how fast a receiver answers. It decides the lane's share of the workers and its
// number of concurrent attempts.
type pace struct {
	answered bool // an attempt has ended without a timeout
	hung     bool // the last attempt timed out
	slow     bool // the last attempt took long, or timed out
	cautious bool // only one attempt at a time may begin, until one succeeds
}

// after returns the state after an attempt that succeeded (ok), took long or timed out. Pass wait
// if the next attempt must wait.
func (p pace) after(ok, slow, timedOut, wait bool) pace {
	return pace{answered: p.answered || !timedOut, hung: timedOut, slow: slow || timedOut, cautious: timedOut || wait || p.cautious && !ok}
}

// String returns a word for an operator.
func (p pace) String() string {
	switch {
	case p.hung:
		return "hung"
	case !p.answered:
		return "untried"
	case p.cautious:
		return "cautious"
	case p.slow:
		return "slow"
	}
	return "steady"
}
