package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"time"

	"github.com/coder/websocket"
)

// Close codes after which it is useless to try the same key again.
const (
	badKey  websocket.StatusCode = 4001
	tooMany websocket.StatusCode = 4003
	unknown websocket.StatusCode = 4004 // no such monitor or rule
)

// client is the code that a user of the service writes. To resume, it needs only the seq of its last
// frame and the epoch, if the service has sent one. The connected frame has a seq, too, so no post is
// missed if the connection breaks before the first post.
type client struct {
	url  string // with path and scheme: ws, wss, http or https
	key  string
	out  io.Writer
	ws   *websocket.Conn
	seen bool // a frame, so that last counts
	last uint64
	of   uint64 // the epoch of last, 0 for none
	got  int
}

// frame has the members that this client looks at.
type frame struct {
	Type           string `json:"type"`
	Seq            uint64 `json:"seq"`
	FromSeq        uint64 `json:"from_seq"`
	ToSeq          uint64 `json:"to_seq"`
	Epoch          uint64 `json:"epoch"`
	Code           int    `json:"code"`
	AuthorUsername string `json:"author_username"`
	TweetText      string `json:"tweet_text"`
}

// connect resumes after the last frame. The first time, it begins with the posts from now on.
func (c *client) connect(ctx context.Context) error {
	url := c.url
	if c.seen && c.of > 0 {
		url += fmt.Sprintf("?since=%d.%d", c.of, c.last)
	} else if c.seen {
		url += fmt.Sprintf("?since=%d", c.last)
	}
	ws, _, err := websocket.Dial(ctx, url, &websocket.DialOptions{HTTPHeader: http.Header{"X-Api-Key": {c.key}}})
	if err != nil {
		return err
	}
	ws.SetReadLimit(1 << 20)
	c.ws = ws
	f, err := c.read(ctx)
	if err != nil {
		return err
	}
	if f.Type == "error" {
		_, err := c.read(ctx) // why it is closed
		return err
	}
	if f.Type != "connected" {
		return fmt.Errorf("the first frame is %q, code %d: want connected", f.Type, f.Code)
	}
	c.seen, c.last, c.of = true, f.Seq, f.Epoch
	fmt.Fprintf(c.out, "connected, resuming after %d\n", f.Seq)
	return nil
}

// watch prints posts until ctx ends. It resumes when the connection is lost, but returns an error when
// the connection is refused.
func (c *client) watch(ctx context.Context) error {
	for {
		err := c.connect(ctx)
		if err != nil && !c.seen {
			return err // it has never worked
		}
		if err == nil {
			err = c.print(ctx, math.MaxInt)
			c.cut()
		}
		switch code := websocket.CloseStatus(err); {
		case ctx.Err() != nil:
			return nil
		case code == badKey || code == tooMany || code == unknown:
			return err
		}
		fmt.Fprintln(c.out, "connection lost:", err)
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return nil
		}
	}
}

// print prints frames until the client has got the given number of posts in all.
func (c *client) print(ctx context.Context, posts int) error {
	for c.got < posts {
		f, err := c.read(ctx)
		if err != nil {
			return err
		}
		switch f.Type {
		case "tweet":
			fmt.Fprintf(c.out, "%3d  @%s  %s\n", f.Seq, f.AuthorUsername, f.TweetText)
			c.got++
			c.last = f.Seq
		case "gap":
			if f.ToSeq < f.FromSeq {
				fmt.Fprintln(c.out, "nothing is kept of what was before")
			} else {
				fmt.Fprintf(c.out, "%d to %d were left out\n", f.FromSeq, f.ToSeq)
			}
			c.last, c.of = f.ToSeq, f.Epoch
		case "ping":
			if err := c.ws.Write(ctx, websocket.MessageText, []byte(`{"type":"pong"}`)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *client) read(ctx context.Context) (f frame, err error) {
	_, b, err := c.ws.Read(ctx)
	if err != nil {
		return f, err
	}
	return f, json.Unmarshal(b, &f)
}

// cut ends the connection without a close frame, as a network failure does.
func (c *client) cut() { c.ws.CloseNow() }
