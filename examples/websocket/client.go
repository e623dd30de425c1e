package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/coder/websocket"
)

// client is what a user of the service writes. All it has to remember is the seq
// of its last frame.
type client struct {
	url  string // host and port
	out  io.Writer
	ws   *websocket.Conn
	last uint64
	got  int
}

// frame has the members that this client looks at.
type frame struct {
	Type           string `json:"type"`
	Seq            uint64 `json:"seq"`
	FromSeq        uint64 `json:"from_seq"`
	ToSeq          uint64 `json:"to_seq"`
	Code           int    `json:"code"`
	AuthorUsername string `json:"author_username"`
	TweetText      string `json:"tweet_text"`
}

// connect resumes after the last frame, or begins with what is posted now.
func (c *client) connect(ctx context.Context) error {
	url := "ws://" + c.url + "/v1/social/stream"
	if c.last > 0 {
		url += fmt.Sprintf("?since=%d", c.last)
	}
	ws, _, err := websocket.Dial(ctx, url, &websocket.DialOptions{HTTPHeader: http.Header{"X-Api-Key": {apiKey}}})
	if err != nil {
		return err
	}
	ws.SetReadLimit(1 << 20)
	c.ws = ws
	f, err := c.read(ctx)
	if err != nil {
		return err
	}
	if f.Type != "connected" {
		return fmt.Errorf("the first frame is %q, code %d: want connected", f.Type, f.Code)
	}
	fmt.Fprintf(c.out, "connected, resuming after %d\n", f.Seq)
	return nil
}

// print prints frames until it has had so many posts in all.
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
			fmt.Fprintf(c.out, "%d to %d were left out\n", f.FromSeq, f.ToSeq)
			c.last = f.ToSeq
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

// cut ends the connection as a broken line does, without a word.
func (c *client) cut() { c.ws.CloseNow() }
