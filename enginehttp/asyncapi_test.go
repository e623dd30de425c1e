package enginehttp_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/coder/websocket"
	"github.com/getkin/kin-openapi/openapi3"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/wshub"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/enginehttp"
	"github.com/streamwatch/streamwatch/secret"
)

const stream = social + "/stream"

// asyncChannel is what the tests read of the AsyncAPI document.
type asyncChannel struct {
	Address  string
	Bindings struct {
		WS struct {
			Method string
			Query  openapi3.Schema
		}
	}
}

type asyncDocument struct {
	Channels   struct{ Stream asyncChannel }
	Components struct {
		Messages map[string]struct {
			Payload  openapi3.Schema
			Examples []struct{ Payload map[string]any }
		}
	}
}

// async is the AsyncAPI document as the service serves it.
var async = sync.OnceValue(func() (doc asyncDocument) {
	rec := httptest.NewRecorder()
	newWorldWithoutTest().ServeHTTP(rec, httptest.NewRequest("GET", "/v1/asyncapi.json", nil))
	if err := json.Unmarshal(rec.Body.Bytes(), &doc); err != nil {
		panic(err)
	}
	return doc
})

func channel() asyncChannel { return async().Channels.Stream }

// checkFrame checks a frame against the AsyncAPI document.
func checkFrame(t *testing.T, frame []byte) {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal(frame, &v); err != nil {
		t.Fatal(err)
	}
	kind, _ := v["type"].(string)
	payload := async().Components.Messages[kind].Payload
	for name, field := range v {
		p := payload.Properties[name]
		if p == nil {
			t.Errorf("%s has %s, the document has not", kind, name)
		} else if p.Ref == "" && p.Value.VisitJSON(field) != nil {
			t.Errorf("%s of %s: %v is not as the document has it", name, kind, field)
		}
	}
	for _, name := range payload.Required {
		if _, ok := v[name]; !ok {
			t.Errorf("%s lacks %s", kind, name)
		}
	}
}

// The examples of the AsyncAPI document are of its own messages, and so are the frames of the hub.
func TestDocumentHasTheFrames(t *testing.T) {
	for kind, m := range async().Components.Messages {
		frame, err := json.Marshal(m.Examples[0].Payload)
		if err != nil || m.Examples[0].Payload["type"] != kind {
			t.Errorf("%s: %s, %v", kind, frame, err)
		}
		checkFrame(t, frame)
	}
	var w *world
	auth := func(ctx context.Context, key secret.Value) (wshub.Identity, error) {
		return enginehttp.WebSocketAuth(w.keys)(ctx, key)
	}
	w = newWorld(t, func(s *setup) { s.engine.WebSocket = &wshub.Options{Authenticate: auth} })
	ev := rocket(deliver.SourceRule, w.ids[mine].Replace("{rule}"))
	if err := w.store.Ports().Journal.Commit(t.Context(), []*detect.Batch{{Cursor: &detect.Cursor{Target: "moon", Since: ev.DetectedAt}, Events: []deliver.Event{ev}}}); err != nil {
		t.Fatal(err)
	}
	if err := w.engine.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer w.engine.Shutdown(t.Context())
	addr, _ := serve(t, w, nil)
	for key, kinds := range map[string][]string{w.key[mine]: {"connected", "tweet"}, "sw_live_nonsense": {"error"}} {
		c, _, err := websocket.Dial(t.Context(), "ws://"+addr+stream+w.ids[mine].Replace("?since=0&rule_id={rule}"), &websocket.DialOptions{HTTPHeader: http.Header{"X-Api-Key": {key}}})
		if err != nil {
			t.Fatal(err)
		}
		for _, kind := range kinds {
			_, frame, err := c.Read(t.Context())
			if err != nil || !strings.HasPrefix(string(frame), `{"type":"`+kind+`"`) {
				t.Fatalf("%s, %v: want %s", frame, err, kind)
			}
			checkFrame(t, frame)
		}
		c.CloseNow()
	}
}
