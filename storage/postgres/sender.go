package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/fleet"
)

// Pauses between two calls of the function that sends.
const (
	idlePause   = 5 * time.Millisecond
	busyPause   = 50 * time.Millisecond
	failedPause = time.Second
)

// sendLimit is how long a call may take.
const sendLimit = 5 * time.Second

// waitingSignals is the maximum number of signals that wait to be sent. If there is one more, a
// SignalLook replaces all of them.
const waitingSignals = 4096

// longestPayload is NOTIFY's limit.
const longestPayload = 7999 // bytes

// lookDoc is a SignalLook.
const lookDoc = `{"kind":"` + string(fleet.SignalLook) + `"}`

// sender collects signals and sends them together, because NOTIFY takes a lock of the whole server.
// After a pause the first signal is sent at once. Those that follow wait for the next pause, which
// is the longer the more often there are some.
type sender struct {
	send func(ctx context.Context, payloads []string) error
	bell chan struct{} // holds a token if signals wait
	quit context.CancelFunc
	done chan struct{} // closed when the goroutine has ended

	mu      sync.Mutex
	waiting []string // JSON
	known   map[string]bool
}

// startSender starts a sender. Its goroutine ends with stop.
func startSender(send func(ctx context.Context, payloads []string) error) *sender {
	ctx, cancel := context.WithCancel(context.Background())
	q := &sender{send: send, bell: make(chan struct{}, 1), quit: cancel, done: make(chan struct{}), known: map[string]bool{}}
	go q.run(ctx)
	return q
}

// stop sends the signals that wait, in one attempt within a second, and ends the sender.
func (q *sender) stop() {
	q.quit()
	<-q.done
}

func (q *sender) add(sig fleet.Signal) error {
	doc, err := json.Marshal(sig)
	if err != nil {
		return fmt.Errorf("postgres: signal: %w", err)
	}
	if len(doc) > longestPayload {
		doc = []byte(lookDoc)
	}
	q.put(string(doc))
	return nil
}

func (q *sender) put(doc string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.known[doc] {
		return
	}
	if len(q.waiting) == waitingSignals {
		q.clear()
		doc = lookDoc
	}
	q.known[doc] = true
	q.waiting = append(q.waiting, doc)
	select {
	case q.bell <- struct{}{}:
	default:
	}
}

// clear forgets the signals that wait. q.mu must be locked.
func (q *sender) clear() (docs []string) {
	docs, q.waiting = q.waiting, nil
	clear(q.known)
	return docs
}

func (q *sender) run(ctx context.Context) {
	defer close(q.done)
	pause := idlePause
	for {
		select {
		case <-q.bell: // after a pause without signals
			pause = idlePause
		case <-ctx.Done():
			q.flush(time.Second)
			return
		}
		for more := true; more; {
			if !q.flush(sendLimit) {
				pause = failedPause
			}
			select {
			case <-time.After(pause):
			case <-ctx.Done():
				q.flush(time.Second)
				return
			}
			select {
			case <-q.bell:
				pause = min(2*pause, busyPause)
			default:
				more = false
			}
		}
	}
}

// flush sends the signals that wait. If that fails, a SignalLook waits in place of them.
func (q *sender) flush(limit time.Duration) bool {
	q.mu.Lock()
	docs := q.clear()
	q.mu.Unlock()
	if len(docs) == 0 {
		return true
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	if err := q.send(ctx, docs); err != nil {
		q.put(lookDoc)
		return false
	}
	return true
}
