package latencybench

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/coder/websocket"
)

// reconnectAfter is the wait after a connection is lost. Frames that a detector sends during the wait
// are lost, unless the detector sends them again by itself.
const reconnectAfter = time.Second

// socket is a WebSocket client.
type socket struct {
	book   *book
	url    string
	header http.Header
	http   *http.Client
	note   func(format string, args ...any)
}

// connect dials.
func (s *socket) connect(ctx context.Context) (*websocket.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	ws, _, err := websocket.Dial(ctx, s.url, &websocket.DialOptions{HTTPHeader: s.header, HTTPClient: s.http})
	if err != nil {
		return nil, fmt.Errorf("websocket: %w", err)
	}
	ws.SetReadLimit(maxBody)
	return ws, nil
}

// watch records the frames of ws until ctx ends, and closes ws. When the connection is lost, it
// connects again.
func (s *socket) watch(ctx context.Context, ws *websocket.Conn) {
	for {
		err := s.read(ctx, ws)
		ws.CloseNow()
		if ctx.Err() != nil {
			return
		}
		s.note("websocket: connection lost: %v", err)
		for {
			if !pause(ctx, reconnectAfter) {
				return
			}
			if ws, err = s.connect(ctx); err == nil {
				break
			}
			s.note("%v", err)
		}
	}
}

func (s *socket) read(ctx context.Context, ws *websocket.Conn) error {
	for {
		_, frame, err := ws.Read(ctx)
		at := s.book.since()
		if err != nil {
			return err
		}
		var control struct {
			Type string `json:"type"`
		}
		if json.Unmarshal(frame, &control) == nil && control.Type == "ping" {
			if err := ws.Write(ctx, websocket.MessageText, []byte(`{"type":"pong"}`)); err != nil {
				return err
			}
			continue
		}
		s.book.arrived(at, channelWebSocket, frame, signatureConnection, "")
	}
}
