package deliver

import "time"

// lane is one endpoint's queue. A dispatcher's mutex guards it.
type lane struct {
	id       string // endpoint id
	owner    string
	queue    []*item // FIFO
	inFlight int
	limit    int  // attempts under way at once
	ready    bool // stands in the dispatcher's ring
	full     bool // was found full, and has not emptied to the half since

	endpoint Endpoint
	gen      int       // counts Refresh
	loaded   time.Time // when endpoint was read, zero if it must be read again
}

// item is a delivery the dispatcher holds, from the commit or the claim until
// its settlement is recorded.
type item struct {
	Delivery
	lane    *lane
	sending bool // taken from the queue
}

func (l *lane) pop() *item {
	it := l.queue[0]
	l.queue[0] = nil
	l.queue = l.queue[1:]
	l.inFlight++
	it.sending = true
	return it
}

func (l *lane) wantsWorker() bool { return len(l.queue) > 0 && l.inFlight < l.limit }

func (l *lane) idle() bool { return len(l.queue) == 0 && l.inFlight == 0 }
