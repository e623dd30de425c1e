package sockettest

import (
	"context"
	"net/http"
	"sync"

	"github.com/coder/websocket"
)

// Feed sends the messages that a test pushes to every open WebSocket, and keeps them in a log.
// Its methods are safe for concurrent use.
type Feed struct {
	// Type is the type of the pushed messages: text or binary.
	Type websocket.MessageType
	// Opened receives the request of each connection. Received receives the messages of
	// clients. Both channels have a buffer of 9; when it is full, values are dropped.
	Opened   chan *http.Request
	Received chan string

	mu   sync.Mutex
	log  []string
	more chan struct{} // closed when the log grows
}

// NewFeed returns a Feed without messages.
func NewFeed(kind websocket.MessageType) *Feed {
	return &Feed{Type: kind, Opened: make(chan *http.Request, 9), Received: make(chan string, 9), more: make(chan struct{})}
}

// Push adds a message to the log and sends it to the open connections.
func (f *Feed) Push(message string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.log = append(f.log, message)
	close(f.more)
	f.more = make(chan struct{})
}

// Len returns the number of messages that were pushed.
func (f *Feed) Len() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.log)
}

// after returns the messages of the log from index place on, and a channel that is closed when
// a message is added.
func (f *Feed) after(place int) ([]string, <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.log[place:], f.more
}

// Serve accepts a WebSocket. It sends the log's messages from index place (0 to Len) on, until
// the client is gone.
func (f *Feed) Serve(w http.ResponseWriter, r *http.Request, place int) {
	c, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	select {
	case f.Opened <- r:
	default:
	}
	ctx, cancel := context.WithCancel(context.Background())
	var reading sync.WaitGroup
	defer reading.Wait()
	defer c.CloseNow()
	reading.Go(func() {
		defer cancel()
		for {
			_, b, err := c.Read(ctx)
			if err != nil {
				return
			}
			select {
			case f.Received <- string(b):
			default:
			}
		}
	})
	for {
		messages, more := f.after(place)
		for _, m := range messages {
			if c.Write(ctx, f.Type, []byte(m)) != nil {
				return
			}
		}
		place += len(messages)
		select {
		case <-more:
		case <-ctx.Done():
			return
		}
	}
}
