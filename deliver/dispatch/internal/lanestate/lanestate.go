package lanestate

// State is the state of a lane in three independent parts: the state of the endpoint's
// record, whether attempts may begin, and how the receiver has answered. Only an Event
// changes them, by the tables below.
type State struct {
	Record RecordState
	Gate   GateState
	Pace   PaceState
}

// RecordState is the state of the endpoint's record in a lane.
type RecordState uint8

const (
	RecordUnread   RecordState = iota // to be read before the next attempt
	RecordReading                     // being read
	RecordOutdated                    // being read, and changed since the read began
	RecordActive                      // deliveries are sent
	RecordRefusing                    // deliveries end unsent
	RecordDeleted                     // the endpoint does not exist
	recordStates
)

// GateState says whether attempts may begin.
type GateState uint8

const (
	GateOpen    GateState = iota
	GateWaiting           // for a short time: the queue stays in memory
	GateParked            // for a long time: the queue went back to the outbox
	gateStates
)

// PaceState is how a receiver answers, which decides its share of the workers and
// how many attempts are under way at once.
type PaceState uint8

const (
	PaceUntried      PaceState = iota // has never answered
	PaceUntriedHung                   // has never answered, and the last attempt timed out
	PaceSteady                        // answers
	PaceCautious                      // one attempt at a time, until one succeeds
	PaceSlow                          // the last attempt took long
	PaceSlowCautious                  // slow and cautious
	PaceHung                          // the last attempt timed out; one at a time
	paceStates
)

// Event is something that happens to a lane.
type Event uint8

const (
	EventReadBegun    Event = iota // a worker reads the record
	EventReadFailed                // the read failed
	EventReadActive                // the record was read: deliveries are sent
	EventReadRefusing              // the record was read: the endpoint takes no deliveries
	EventReadDeleted               // there is no record
	EventReadPaused                // the record was read: the endpoint is paused, read again later
	EventChanged                   // the record was changed in the store

	EventWait    // attempts wait for a short time
	EventPark    // attempts wait for a long time
	EventElapsed // the wait has passed, or does not count any more

	EventAccepted       // an attempt succeeded
	EventAcceptedSlowly // an attempt succeeded, and took long
	EventFailed         // an attempt failed
	EventFailedSlowly   // an attempt failed, and took long
	EventHeldOff        // an attempt failed, after which the lane has to wait
	EventHeldOffSlowly  // an attempt failed and took long, after which the lane has to wait
	EventTimedOut       // an attempt ran out of time
	EventReset          // earlier attempts do not count any more

	events
)

// After returns the state after an event.
func (s State) After(e Event) State {
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
	recordAfter = [events]*[recordStates]RecordState{
		//                 unread          reading         outdated        active          refusing        deleted
		EventReadBegun:    {RecordReading, RecordReading, RecordOutdated, RecordReading, RecordReading, RecordReading},
		EventReadFailed:   {RecordUnread, RecordUnread, RecordUnread, RecordActive, RecordRefusing, RecordDeleted},
		EventReadActive:   {RecordUnread, RecordActive, RecordUnread, RecordActive, RecordRefusing, RecordDeleted},
		EventReadRefusing: {RecordUnread, RecordRefusing, RecordUnread, RecordActive, RecordRefusing, RecordDeleted},
		EventReadDeleted:  {RecordUnread, RecordDeleted, RecordUnread, RecordActive, RecordRefusing, RecordDeleted},
		EventReadPaused:   {RecordUnread, RecordUnread, RecordUnread, RecordActive, RecordRefusing, RecordDeleted},
		EventChanged:      {RecordUnread, RecordOutdated, RecordOutdated, RecordUnread, RecordUnread, RecordUnread},
	}
	gateAfter = [events]*[gateStates]GateState{
		//             open         waiting      parked
		EventWait:    {GateWaiting, GateWaiting, GateParked},
		EventPark:    {GateParked, GateParked, GateParked},
		EventElapsed: {GateOpen, GateOpen, GateOpen},
		EventReset:   {GateOpen, GateOpen, GateOpen},
	}
	paceAfter = [events]*[paceStates]PaceState{
		//                   untried           untried, hung     steady            cautious          slow              slow, cautious    hung
		EventAccepted:       {PaceSteady, PaceSteady, PaceSteady, PaceSteady, PaceSteady, PaceSteady, PaceSteady},
		EventAcceptedSlowly: {PaceSlow, PaceSlow, PaceSlow, PaceSlow, PaceSlow, PaceSlow, PaceSlow},
		EventFailed:         {PaceSteady, PaceCautious, PaceSteady, PaceCautious, PaceSteady, PaceCautious, PaceCautious},
		EventFailedSlowly:   {PaceSlow, PaceSlowCautious, PaceSlow, PaceSlowCautious, PaceSlow, PaceSlowCautious, PaceSlowCautious},
		EventHeldOff:        {PaceCautious, PaceCautious, PaceCautious, PaceCautious, PaceCautious, PaceCautious, PaceCautious},
		EventHeldOffSlowly: {PaceSlowCautious, PaceSlowCautious, PaceSlowCautious, PaceSlowCautious, PaceSlowCautious,
			PaceSlowCautious, PaceSlowCautious},
		EventTimedOut: {PaceUntriedHung, PaceUntriedHung, PaceHung, PaceHung, PaceHung, PaceHung, PaceHung},
		EventReset:    {PaceUntried, PaceUntried, PaceSteady, PaceSteady, PaceSteady, PaceSteady, PaceSteady},
	}
)

// Reading reports whether a worker reads the record now.
func (s RecordState) Reading() bool { return s == RecordReading || s == RecordOutdated }

// Answered reports whether an attempt has ever ended without a timeout.
func (p PaceState) Answered() bool { return p != PaceUntried && p != PaceUntriedHung }

// Hung reports whether the last attempt timed out.
func (p PaceState) Hung() bool { return p == PaceHung || p == PaceUntriedHung }

// Slow reports whether the last attempt took long, or timed out.
func (p PaceState) Slow() bool { return p == PaceSlow || p == PaceSlowCautious || p.Hung() }

// Cautious reports whether one attempt at a time is made.
func (p PaceState) Cautious() bool { return p == PaceCautious || p == PaceSlowCautious || p.Hung() }

// Attempt returns the event for the end of an attempt.
func Attempt(ok, slow, timedOut, wait bool) Event {
	e := EventFailed
	switch {
	case timedOut:
		return EventTimedOut
	case ok:
		e = EventAccepted
	case wait:
		e = EventHeldOff
	}
	if slow {
		e++ // to its slow form
	}
	return e
}

// String returns a word for an operator: a record that is being read is "unread".
func (s RecordState) String() string {
	switch s {
	case RecordActive:
		return "active"
	case RecordRefusing:
		return "refusing"
	case RecordDeleted:
		return "deleted"
	}
	return "unread"
}

// String returns a word for an operator.
func (g GateState) String() string {
	return [gateStates]string{GateOpen: "open", GateWaiting: "waiting", GateParked: "parked"}[g]
}

// String returns a word for an operator: a slow and cautious pace is "cautious".
func (p PaceState) String() string {
	return [paceStates]string{PaceUntried: "untried", PaceUntriedHung: "hung", PaceSteady: "steady", PaceCautious: "cautious",
		PaceSlow: "slow", PaceSlowCautious: "cautious", PaceHung: "hung"}[p]
}
