package dispatch

// laneState is the state of a lane in three independent parts: the state of the endpoint's
// record, whether attempts may begin, and how the receiver has answered. Only an event
// changes them, by the tables below.
type laneState struct {
	Record recordState
	Gate   gateState
	Pace   paceState
}

// recordState is the state of the endpoint's record in a lane.
type recordState uint8

const (
	recordUnread   recordState = iota // to be read before the next attempt
	recordReading                     // being read
	recordOutdated                    // being read, and changed since the read began
	recordActive                      // deliveries are sent
	recordRefusing                    // deliveries end unsent
	recordDeleted                     // the endpoint does not exist
	recordStates
)

// gateState says whether attempts may begin.
type gateState uint8

const (
	gateOpen    gateState = iota
	gateWaiting           // for a short time: the queue stays in memory
	gateParked            // for a long time: the queue went back to the outbox
	gateStates
)

// paceState is how a receiver answers, which decides its share of the workers and
// how many attempts are under way at once.
type paceState uint8

const (
	paceUntried      paceState = iota // has never answered
	paceUntriedHung                   // has never answered, and the last attempt timed out
	paceSteady                        // answers
	paceCautious                      // one attempt at a time, until one succeeds
	paceSlow                          // the last attempt took long
	paceSlowCautious                  // slow and cautious
	paceHung                          // the last attempt timed out; one at a time
	paceStates
)

// event is something that happens to a lane.
type event uint8

const (
	eventReadBegun    event = iota // a worker reads the record
	eventReadFailed                // the read failed
	eventReadActive                // the record was read: deliveries are sent
	eventReadRefusing              // the record was read: the endpoint takes no deliveries
	eventReadDeleted               // there is no record
	eventReadPaused                // the record was read: the endpoint is paused, read again later
	eventChanged                   // the record was changed in the store

	eventWait    // attempts wait for a short time
	eventPark    // attempts wait for a long time
	eventElapsed // the wait has passed, or does not count any more

	eventAccepted       // an attempt succeeded
	eventAcceptedSlowly // an attempt succeeded, and took long
	eventFailed         // an attempt failed
	eventFailedSlowly   // an attempt failed, and took long
	eventHeldOff        // an attempt failed, after which the lane has to wait
	eventHeldOffSlowly  // an attempt failed and took long, after which the lane has to wait
	eventTimedOut       // an attempt ran out of time
	eventReset          // earlier attempts do not count any more

	events
)

// after returns the state after an event.
func (s laneState) after(e event) laneState {
	if row := recordAfter[e]; row != nil {
		s.Record = row[s.Record]
	}
	if row := gateAfter[e]; row != nil {
		s.Gate = row[s.Gate]
	}
	if row := paceAfter[e]; row != nil {
		s.Pace = row[s.Pace]
	}
	return s
}

// The tables have a row for each event that can change the part, and a column for
// each state before it, in the order of the constants.
var (
	recordAfter = [events]*[recordStates]recordState{
		//                 unread          reading         outdated        active          refusing        deleted
		eventReadBegun:    {recordReading, recordReading, recordOutdated, recordReading, recordReading, recordReading},
		eventReadFailed:   {recordUnread, recordUnread, recordUnread, recordActive, recordRefusing, recordDeleted},
		eventReadActive:   {recordUnread, recordActive, recordUnread, recordActive, recordRefusing, recordDeleted},
		eventReadRefusing: {recordUnread, recordRefusing, recordUnread, recordActive, recordRefusing, recordDeleted},
		eventReadDeleted:  {recordUnread, recordDeleted, recordUnread, recordActive, recordRefusing, recordDeleted},
		eventReadPaused:   {recordUnread, recordUnread, recordUnread, recordActive, recordRefusing, recordDeleted},
		eventChanged:      {recordUnread, recordOutdated, recordOutdated, recordUnread, recordUnread, recordUnread},
	}
	gateAfter = [events]*[gateStates]gateState{
		//             open         waiting      parked
		eventWait:    {gateWaiting, gateWaiting, gateParked},
		eventPark:    {gateParked, gateParked, gateParked},
		eventElapsed: {gateOpen, gateOpen, gateOpen},
		eventReset:   {gateOpen, gateOpen, gateOpen},
	}
	paceAfter = [events]*[paceStates]paceState{
		//                   untried           untried, hung     steady            cautious          slow              slow, cautious    hung
		eventAccepted:       {paceSteady, paceSteady, paceSteady, paceSteady, paceSteady, paceSteady, paceSteady},
		eventAcceptedSlowly: {paceSlow, paceSlow, paceSlow, paceSlow, paceSlow, paceSlow, paceSlow},
		eventFailed:         {paceSteady, paceCautious, paceSteady, paceCautious, paceSteady, paceCautious, paceCautious},
		eventFailedSlowly:   {paceSlow, paceSlowCautious, paceSlow, paceSlowCautious, paceSlow, paceSlowCautious, paceSlowCautious},
		eventHeldOff:        {paceCautious, paceCautious, paceCautious, paceCautious, paceCautious, paceCautious, paceCautious},
		eventHeldOffSlowly: {paceSlowCautious, paceSlowCautious, paceSlowCautious, paceSlowCautious, paceSlowCautious,
			paceSlowCautious, paceSlowCautious},
		eventTimedOut: {paceUntriedHung, paceUntriedHung, paceHung, paceHung, paceHung, paceHung, paceHung},
		eventReset:    {paceUntried, paceUntried, paceSteady, paceSteady, paceSteady, paceSteady, paceSteady},
	}
)

// reading reports whether a worker reads the record now.
func (s recordState) reading() bool { return s == recordReading || s == recordOutdated }

// answered reports whether an attempt has ever ended without a timeout.
func (p paceState) answered() bool { return p != paceUntried && p != paceUntriedHung }

// hung reports whether the last attempt timed out.
func (p paceState) hung() bool { return p == paceHung || p == paceUntriedHung }

// slow reports whether the last attempt took long, or timed out.
func (p paceState) slow() bool { return p == paceSlow || p == paceSlowCautious || p.hung() }

// cautious reports whether one attempt at a time is made.
func (p paceState) cautious() bool { return p == paceCautious || p == paceSlowCautious || p.hung() }

// attemptEvent returns the event for the end of an attempt.
func attemptEvent(ok, slow, timedOut, wait bool) event {
	e := eventFailed
	switch {
	case timedOut:
		return eventTimedOut
	case ok:
		e = eventAccepted
	case wait:
		e = eventHeldOff
	}
	if slow {
		e++ // to its slow form
	}
	return e
}

// String returns a word for an operator: a record that is being read is "unread".
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

// String returns a word for an operator.
func (g gateState) String() string {
	return [gateStates]string{gateOpen: "open", gateWaiting: "waiting", gateParked: "parked"}[g]
}

// String returns a word for an operator: a slow and cautious pace is "cautious".
func (p paceState) String() string {
	return [paceStates]string{paceUntried: "untried", paceUntriedHung: "hung", paceSteady: "steady", paceCautious: "cautious",
		paceSlow: "slow", paceSlowCautious: "cautious", paceHung: "hung"}[p]
}
