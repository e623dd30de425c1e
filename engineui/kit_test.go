package engineui_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/net/html"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/engineui"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// operator sees and may change everything.
var operator = engineui.Viewer{Name: "operator", All: true, Write: true}

// as lets everybody in as one viewer.
func as(who engineui.Viewer) func(*http.Request) (engineui.Viewer, error) {
	return func(*http.Request) (engineui.Viewer, error) { return who, nil }
}

// byHeader takes the viewer's name from a header: "operator", or an owner, who may write
// unless the name ends in "-reader".
func byHeader(r *http.Request) (engineui.Viewer, error) {
	switch who := r.Header.Get("Viewer"); who {
	case "":
		return engineui.Viewer{}, engineui.ErrDenied
	case "operator":
		return operator, nil
	default:
		owner, reads := strings.CutSuffix(who, "-reader")
		return engineui.Viewer{Name: owner, Owner: owner, Write: !reads}, nil
	}
}

// newEngine is an engine that is started, on a store in memory and a fake platform.
func newEngine(t *testing.T, cfg streamwatch.Config) *streamwatch.Engine {
	t.Helper()
	if cfg.Fetcher == nil && cfg.Sources == nil {
		cfg.Fetcher = enginetest.NewPlatform(enginetest.PlatformConfig{Seed: 1})
	}
	e, err := streamwatch.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := e.Shutdown(ctx); err != nil {
			t.Error(err)
		}
	})
	return e
}

func newConsole(t *testing.T, cfg engineui.Config) *engineui.Console {
	t.Helper()
	c, err := engineui.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// get asks a handler for a page as a viewer, without a socket.
func get(t *testing.T, h http.Handler, viewer, path string) (status int, body string) {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, path, nil)
	if viewer != "" {
		r.Header.Set("Viewer", viewer)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// wellFormed reports tags that are not closed as they were opened.
func wellFormed(t *testing.T, page string) {
	t.Helper()
	void := map[string]bool{"meta": true, "link": true, "input": true, "br": true, "hr": true, "img": true}
	var open []string
	z := html.NewTokenizer(strings.NewReader(page))
	for {
		switch z.Next() {
		case html.ErrorToken:
			if z.Err() != io.EOF {
				t.Errorf("not HTML: %v", z.Err())
			}
			if len(open) > 0 {
				t.Errorf("not closed: %v", open)
			}
			return
		case html.StartTagToken:
			name, _ := z.TagName()
			if !void[string(name)] {
				open = append(open, string(name))
			}
		case html.EndTagToken:
			name, _ := z.TagName()
			if len(open) == 0 || open[len(open)-1] != string(name) {
				t.Errorf("</%s> closes %v", name, open)
				return
			}
			open = open[:len(open)-1]
		}
	}
}
