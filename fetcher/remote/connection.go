package remote

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/internal/socket"
	"github.com/streamwatch/streamwatch/fetcher/upstream"
	"github.com/streamwatch/streamwatch/monitor"
)

// connection is one connection of a Stream.
type connection struct {
	stream *Stream
	emit   func(fetcher.Signal) error
	from   position // where to resume

	// The reading goroutine alone uses these.
	send    socket.Send
	up      bool              // the service has accepted the key
	last    position          // of the newest frame
	brought []fetcher.Account // the accounts that were last emitted
	told    map[string]bool   // the accounts in brought, by monitor.Key(name) and by idMark + id

	mu      sync.Mutex
	wanted  []fetcher.Account
	changed bool // wanted has changed, or the monitors were read again
}

// idMark distinguishes ids from names in connection.told. Names contain no space.
const idMark = "id "

func (c *connection) run(ctx context.Context, changes <-chan []fetcher.Account) error {
	if err := c.stream.readMonitors(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	var following sync.WaitGroup
	defer following.Wait()
	defer cancel()
	cfg := c.stream.socket(c.from)
	cfg.Message, cfg.Alive = func(b []byte) error { return c.message(ctx, b) }, c.alive
	cfg.Opened = func(send socket.Send) error {
		c.send = send
		following.Go(func() { c.follow(ctx, changes) })
		return nil
	}
	err := socket.Read(ctx, cfg)
	var status *fetcher.StatusError
	switch {
	case errors.As(err, &status):
		return meaning(err)
	case c.up && errors.Is(err, websocket.ErrMessageTooBig):
		// The same frame would be too big again, so the next connection resumes after it.
		c.last.Seq++
		if failed := c.tell(fetcher.Signal{Kind: fetcher.SignalGap}); failed != nil {
			return failed
		}
	}
	return err
}

// follow updates the wanted accounts from changes, and reads the monitors again when due, until
// ctx ends.
func (c *connection) follow(ctx context.Context, changes <-chan []fetcher.Account) {
	due := time.Now().Add(monitorsEvery)
	timer := time.NewTimer(monitorsEvery)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case accounts, ok := <-changes:
			if !ok {
				changes = nil
				continue
			}
			c.want(accounts)
			if soon := time.Now().Add(monitorsAfter); soon.Before(due) && c.lacksMonitor(accounts) {
				due = soon
				timer.Reset(monitorsAfter)
			}
			continue
		case <-timer.C:
		}
		if c.stream.readMonitors(ctx) == nil { // after an error the old list stays in use
			c.mu.Lock()
			c.changed = true
			c.mu.Unlock()
		}
		due = time.Now().Add(monitorsEvery)
		timer.Reset(monitorsEvery)
	}
}

func (c *connection) want(accounts []fetcher.Account) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wanted, c.changed = accounts, true
}

func (c *connection) lacksMonitor(accounts []fetcher.Account) bool {
	c.stream.mu.Lock()
	defer c.stream.mu.Unlock()
	for _, a := range accounts {
		if _, ok := c.stream.found[monitor.Key(a.Username)]; !ok {
			return true
		}
	}
	return false
}

// accounts returns the wanted accounts that have a monitor. tell is false if these are the
// accounts last emitted.
func (c *connection) accounts() (brought []fetcher.Account, tell bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.changed {
		return nil, false
	}
	c.changed = false
	c.stream.mu.Lock()
	defer c.stream.mu.Unlock()
	for _, a := range c.wanted {
		if _, ok := c.stream.found[monitor.Key(a.Username)]; ok {
			brought = append(brought, a)
		}
	}
	return brought, !slices.Equal(brought, c.brought)
}

// bring sets the accounts whose posts are emitted from now on.
func (c *connection) bring(accounts []fetcher.Account) {
	c.brought, c.told = accounts, make(map[string]bool, 2*len(accounts))
	for _, a := range accounts {
		c.told[monitor.Key(a.Username)] = true
		if a.UserID != "" {
			c.told[idMark+a.UserID] = true
		}
	}
}

// brings reports whether the post's author is one of the accounts last emitted.
func (c *connection) brings(t *fetcher.Tweet) bool {
	return c.told[monitor.Key(t.Username)] || c.told[idMark+t.UserID] || c.told[monitor.Key(t.UserID)]
}

func (c *connection) tellChanged() error {
	accounts, tell := c.accounts()
	if !tell {
		return nil
	}
	c.bring(accounts)
	return c.tell(fetcher.Signal{Kind: fetcher.SignalAccounts, Accounts: accounts})
}

// tell emits a signal with the position of the newest frame.
func (c *connection) tell(s fetcher.Signal) error {
	s.Position = c.last.text()
	return c.emit(s)
}

func (c *connection) alive() error {
	if !c.up {
		return nil
	}
	if err := c.tellChanged(); err != nil {
		return err
	}
	return c.tell(fetcher.Signal{Kind: fetcher.SignalHeartbeat})
}

// pong answers a ping frame.
var pong = []byte(`{"type":"pong"}`)

// message emits the signal for one frame, or SignalGap if it cannot parse the frame.
func (c *connection) message(ctx context.Context, b []byte) error {
	f, ok := parseFrame(b)
	switch {
	case ok && f.Type == typeError:
		return c.refusal(&f)
	case !c.up && (!ok || f.Type != typeConnected):
		return fmt.Errorf("%w: the first frame is not one of type connected", fetcher.ErrMalformed)
	case !c.up:
		return c.connected(&f)
	}
	if err := c.tellChanged(); err != nil {
		return err
	}
	s := fetcher.Signal{Kind: fetcher.SignalHeartbeat}
	switch {
	case !ok:
		s.Kind = fetcher.SignalGap
	case f.Type == typeTweet:
		c.last.Seq = max(c.last.Seq, f.Seq)
		s.At, _ = fetcher.ParseTime(f.DetectedAt)
		if post := f.post(); post == nil {
			s.Kind = fetcher.SignalGap
		} else if c.brings(post) {
			s.Kind, s.Post = fetcher.SignalPost, post
		}
	case f.Type == typeGap:
		if f.Epoch != c.last.Epoch {
			c.last.Epoch, c.last.Seq = f.Epoch, 0
		}
		c.last.Seq = max(c.last.Seq, f.To)
		s.Kind = fetcher.SignalGap
	case f.Type == typePing:
		s.At, _ = fetcher.ParseTime(f.Timestamp)
		if err := c.tell(s); err != nil {
			return err
		}
		return c.send(ctx, pong)
	}
	return c.tell(s)
}

// connected emits SignalUp after the service has accepted the key. The frames that follow have
// higher numbers than f. If the stream resumes from a position, f has the number of that
// position.
func (c *connection) connected(f *frame) error {
	c.up = true
	c.last = position{Place: c.stream.place, Key: f.KeyID, Seq: f.Seq, Epoch: f.Epoch}
	resumed := c.from.known() && c.from.Key == f.KeyID && c.from.Seq == f.Seq && c.from.Epoch == f.Epoch
	accounts, _ := c.accounts()
	c.bring(accounts)
	return c.tell(fetcher.Signal{Kind: fetcher.SignalUp, Accounts: accounts, Resumed: resumed})
}

// refusal returns the error for f, the frame with which the service closes the connection.
func (c *connection) refusal(f *frame) error {
	detail := upstream.Detail(f.Message, c.stream.key())
	if f.Code == codeBadKey {
		return fmt.Errorf("%w: %s", fetcher.ErrUnauthorized, detail)
	}
	return &fetcher.StatusError{Code: f.Code, Detail: detail}
}
