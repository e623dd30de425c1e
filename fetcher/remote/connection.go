package remote

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/internal/socket"
	"github.com/streamwatch/streamwatch/fetcher/upstream"
)

// connection is one connection of a Stream.
type connection struct {
	stream *Stream
	emit   func(fetcher.Signal) error
	from   position // where to resume

	// The reading goroutine alone uses these.
	send    socket.Send
	up      bool                         // the service has accepted the key
	last    position                     // of the newest frame
	brought []fetcher.Account            // the accounts that were last emitted
	byName  map[string]fetcher.Account   // the accounts in brought, by accountKey
	byID    map[string][]fetcher.Account // those of them with an id

	mu      sync.Mutex
	wanted  []fetcher.Account
	changed bool // wanted has changed, or the monitors were read again
}

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
		if _, ok := c.stream.found[accountKey(a.Username)]; !ok {
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
		if _, ok := c.stream.found[accountKey(a.Username)]; ok {
			brought = append(brought, a)
		}
	}
	return brought, !slices.Equal(brought, c.brought)
}

// bring sets the accounts whose posts are emitted from now on.
func (c *connection) bring(accounts []fetcher.Account) {
	c.brought, c.byName, c.byID = accounts, make(map[string]fetcher.Account, len(accounts)), make(map[string][]fetcher.Account, len(accounts))
	for _, a := range accounts {
		c.byName[accountKey(a.Username)] = a
		if a.UserID != "" {
			c.byID[a.UserID] = append(c.byID[a.UserID], a)
		}
	}
}

// whose returns the accounts last emitted that the post's author is. If they are written without
// the name of the post's source, whose clears t.Platform.
func (c *connection) whose(t *fetcher.Tweet) []fetcher.Account {
	source := t.Platform
	found := c.named(t, func(key string) bool { return source == "" || writtenWith(key, source) })
	if len(found) > 0 || source == "" || c.tracks(t) {
		return found
	}
	t.Platform = ""
	return c.named(t, func(key string) bool { return !strings.Contains(key, ":") })
}

// named returns the accounts last emitted that have the author's name, with the name of its source
// if there is one, or the author's id and a key that fits.
func (c *connection) named(t *fetcher.Tweet, fits func(key string) bool) (found []fetcher.Account) {
	for _, name := range []string{t.Username, t.UserID} {
		if a, ok := c.byName[accountKey(fetcher.SourceName(t.Platform, name))]; ok && name != "" && !slices.Contains(found, a) {
			found = append(found, a)
		}
	}
	for _, a := range c.byID[t.UserID] {
		if fits(accountKey(a.Username)) && !slices.Contains(found, a) {
			found = append(found, a)
		}
	}
	return found
}

// tracks reports whether a monitor has the author, written with the name of its source.
func (c *connection) tracks(t *fetcher.Tweet) bool {
	c.stream.mu.Lock()
	defer c.stream.mu.Unlock()
	return c.stream.found.kinds(t) != 0
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
		} else if accounts := c.whose(post); len(accounts) > 0 {
			s.Kind, s.Post, s.Accounts = fetcher.SignalPost, post, accounts
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
