package wshub

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/coder/websocket"
	"github.com/streamwatch/streamwatch/internal/batch"
	"github.com/streamwatch/streamwatch/secret"
)

// Bounds of a connection.
const (
	writeTimeout = 5 * time.Second  // for one write; the connection is cut after it
	closeGrace   = time.Second      // for the close handshake; the connection is cut after it
	maxMessage   = 32 << 10         // bytes of a message from a client
	messageTime  = time.Second      // for the rest of a message once it has begun
	maxHeard     = 100              // messages, pings and pongs from a client in a second
	pingEvery    = 30 * time.Second // ping frames, in JSON
	aliveEvery   = 20 * time.Second // protocol pings
	pongTime     = 2 * aliveEvery   // for the answer to a protocol ping
	replayPage   = 64               // events read at a time for one connection
)

// Close codes in addition to those of RFC 6455.
const (
	codeBadKey    websocket.StatusCode = 4001
	codeTooMany   websocket.StatusCode = 4003
	codeUnknown   websocket.StatusCode = 4004
	codeGoingAway                      = websocket.StatusGoingAway
	codeGone      websocket.StatusCode = 0 // no close frame is written: the client is gone
)

// conn is a client's connection. One goroutine reads from it, another writes to it.
type conn struct {
	h      *Hub
	ws     *websocket.Conn
	net    net.Conn // below ws, to set deadlines and to close without a handshake
	stream *stream
	filter filter
	id     Identity     // of the key; set under the hub's mutex when the connection is counted
	secret secret.Value // the key, likewise

	bell batch.Bell
	// pos is the sequence number up to which every event was written, filtered out or reported
	// in a gap frame. After join only the writer changes it.
	pos atomic.Uint64
	standing
	epoch uint64 // of pos; after join only the writer uses it
	// missed is a gap frame to send first, nil for none. join sets it if the client resumes
	// after a number that the store does not have.
	missed *frame

	pinging atomic.Bool
	flood

	once   sync.Once
	done   chan struct{} // closed by end
	code   websocket.StatusCode
	reason string
}

// standing is a client's state in its stream. The stream's mutex guards it.
type standing struct {
	live       bool      // the client has caught up; from then on it may be closed as too slow
	upToDateAt time.Time // when the client last had every event
}

// flood counts the messages that a client sends. Only the reader uses it.
type flood struct {
	second time.Time // when the present second of counting began
	count  int
}

// end begins to close the connection and does not wait. If it is called again, the first code
// and reason stay.
func (c *conn) end(code websocket.StatusCode, reason string) {
	c.once.Do(func() {
		c.code, c.reason = code, reason
		time.AfterFunc(closeGrace, func() { c.net.Close() })
		close(c.done)
	})
}

// farewell sends the reason and closes the connection. It is called after end.
func (c *conn) farewell() {
	if c.code == codeGone {
		c.net.Close()
		c.ws.CloseNow()
		return
	}
	if c.code >= 4000 { // a code of this protocol; also for clients that cannot see close codes
		c.send(errorFrame(int(c.code), c.reason))
	}
	c.net.SetReadDeadline(time.Time{}) // firstMessage may have set one
	c.ws.Close(c.code, c.reason)
}

// serve runs the connection until it is closed.
func (c *conn) serve(key string) {
	var writing sync.WaitGroup
	writing.Go(func() {
		c.greet(key)
		c.farewell()
	})
	c.readAll()
	c.end(codeGone, "")
	writing.Wait()
}

// greet sends the first frame, then writes the stream until the connection ends.
func (c *conn) greet(key string) {
	seq := c.pos.Load()
	if c.missed != nil {
		seq = 0
	}
	if !c.send(connectedFrame("con_"+rand.Text(), key, seq, c.epoch)) || c.missed != nil && !c.send(c.missed.data) {
		return
	}
	c.missed = nil
	c.writeAll()
}

// readAll reads messages until the connection is closed, even after end.
func (c *conn) readAll() {
	for {
		b, err := c.message()
		if err != nil {
			return
		}
		var in struct {
			Type string `json:"type"`
		}
		// Unknown types are ignored. So is "pong": checkAlive relies on protocol pongs alone.
		if b != nil && json.Unmarshal(b, &in) != nil {
			c.end(websocket.StatusPolicyViolation, "want JSON objects")
		}
	}
}

// message reads one message. If the message is not allowed, it ends the connection and returns
// nil without an error.
func (c *conn) message() ([]byte, error) {
	kind, r, err := c.ws.Reader(context.Background())
	if err != nil {
		return nil, err
	}
	c.heard()
	// The read limit alone does not end a message whose fragments come slowly or are empty.
	c.net.SetReadDeadline(time.Now().Add(messageTime))
	b, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	c.net.SetReadDeadline(time.Time{})
	switch {
	case kind != websocket.MessageText:
		c.end(websocket.StatusUnsupportedData, "want text messages")
		return nil, nil
	case !utf8.Valid(b):
		c.end(websocket.StatusInvalidFramePayloadData, "want UTF-8")
		return nil, nil
	}
	return b, nil
}

// heard counts the client's messages, and ends the connection when there are too
// many. Only the reader calls it.
func (c *conn) heard() bool {
	if now := time.Now(); now.Sub(c.second) >= time.Second {
		c.second, c.count = now, 0
	}
	if c.count++; c.count > maxHeard {
		c.end(websocket.StatusPolicyViolation, "more than 100 messages a second")
	}
	return c.count <= maxHeard
}

// writeAll writes until the connection ends.
func (c *conn) writeAll() {
	ping, alive := time.NewTicker(pingEvery), time.NewTicker(aliveEvery)
	defer ping.Stop()
	defer alive.Stop()
	var buf [writeBatch]*frame
	ready := make(chan struct{})
	close(ready)
	for {
		frames, upTo, do := c.stream.next(c, buf[:])
		work := ready
		if do == upToDate {
			work = c.bell
		}
		select {
		case <-c.done:
			return
		case <-ping.C:
			c.send(pingFrame(time.Now()))
			continue
		case <-alive.C:
			c.checkAlive()
			continue
		case <-work:
		}
		switch do {
		case write:
			if !c.writeFrames(frames, upTo) {
				return
			}
		case replay:
			if !c.replay(upTo) {
				return
			}
		case slow:
			c.h.tooSlow.Add(1)
			c.end(websocket.StatusTryAgainLater, "too slow: resume with since="+since(c.epoch, upTo))
			return
		}
	}
}

// writeFrames writes frames and then sets the position to upTo.
func (c *conn) writeFrames(frames []*frame, upTo uint64) bool {
	for _, fr := range frames {
		select {
		case <-c.done:
			return false
		default:
		}
		if !c.send(fr.data) {
			return false
		}
		c.wrote(fr)
	}
	c.moveTo(upTo)
	return true
}

// wrote records that a frame was written to the socket.
func (c *conn) wrote(fr *frame) {
	if fr.source != "" {
		c.h.sent.Add(1)
		if fr.logged && fr.sent.CompareAndSwap(false, true) {
			c.h.record.add(fr.event)
		}
	}
	c.moveTo(fr.seq)
}

func (c *conn) moveTo(pos uint64) {
	if c.pos.Load() < pos {
		c.pos.Store(pos)
		c.stream.progress()
	}
}

// replay writes one page of the stored events above the client's position. head is a sequence
// number that was committed before the call. If the store has no events, replay writes a gap
// frame up to head.
func (c *conn) replay(head uint64) bool {
	pos := c.pos.Load()
	evs, err := c.h.read(c.h.ctx, c.stream.owner, pos, replayPage)
	if err != nil {
		c.h.logError("cannot replay events", "owner", c.stream.owner, "after", pos, "error", err)
		c.end(websocket.StatusTryAgainLater, "store unavailable: resume with since="+since(c.epoch, pos))
		return false
	}
	if len(evs) == 0 { // removed by retention
		return c.writeFrames([]*frame{gapFrame(pos+1, head, c.epoch)}, head)
	}
	for i := range evs {
		ev := &evs[i]
		var frames []*frame
		if ev.Seq > pos+1 {
			frames = append(frames, gapFrame(pos+1, ev.Seq-1, c.epoch))
		}
		if c.filter.takes(ev.Source.Kind, ev.Source.ID) {
			frames = append(frames, eventFrame(ev))
		}
		if pos = ev.Seq; !c.writeFrames(frames, pos) {
			return false
		}
	}
	return true
}

// send writes a text frame within writeTimeout.
func (c *conn) send(b []byte) bool {
	err := c.ws.Write(context.Background(), websocket.MessageText, b)
	if err == nil {
		return true
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		c.h.tooSlow.Add(1)
	}
	c.end(codeGone, "")
	return false
}

// checkAlive sends a protocol ping, unless one is unanswered, and returns. It cuts the
// connection if the answer does not come within pongTime.
func (c *conn) checkAlive() {
	if !c.pinging.CompareAndSwap(false, true) {
		return
	}
	c.h.wg.Go(func() {
		defer c.pinging.Store(false)
		ctx, cancel := context.WithTimeout(c.h.ctx, pongTime)
		defer cancel()
		if c.ws.Ping(ctx) != nil {
			c.end(codeGone, "")
		}
	})
}
