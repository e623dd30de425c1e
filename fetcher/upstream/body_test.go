package upstream

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
)

func TestReadBody(t *testing.T) {
	broken := errors.New("broken")
	long := strings.Repeat("0123456789", 200_000)
	for _, tc := range []struct {
		name      string
		r         io.Reader
		announced int64
		want      string
		err       error
	}{
		{"nothing", strings.NewReader(""), 0, "", nil},
		{"nothing, not announced", strings.NewReader(""), -1, "", nil},
		{"as announced", strings.NewReader("body"), 4, "body", nil},
		{"more than announced", strings.NewReader("body"), 1, "body", nil},
		{"less than announced", strings.NewReader("body"), 400, "body", nil},
		{"a byte at a time", iotest.OneByteReader(strings.NewReader("body")), 4, "body", nil},
		{"the end with the last bytes", iotest.DataErrReader(strings.NewReader("body")), 4, "body", nil},
		{"more than there is room for", strings.NewReader(long), -1, long, nil},
		{"more than is believed at once", strings.NewReader(long), int64(len(long)), long, nil},
		{"an announcement beyond all bounds", strings.NewReader("body"), 1 << 60, "body", nil},
		{"cut short", io.MultiReader(strings.NewReader("bo"), iotest.ErrReader(broken)), 4, "bo", broken},
	} {
		t.Run(tc.name, func(t *testing.T) {
			room, err := readBody(tc.r, tc.announced)
			if string(*room) != tc.want || err != tc.err {
				t.Errorf("%d bytes, error %v, want %d and %v", len(*room), err, len(tc.want), tc.err)
			}
			if c := cap(*room); tc.announced > maxRoom && len(tc.want) < maxRoom && c > 2*maxRoom {
				t.Errorf("room for %d bytes on the strength of an announcement, want %d at most", c, maxRoom)
			}
		})
	}
}

// An announced body is read into one piece of memory, however long it is.
func TestAnnouncedBodyDoesNotGrow(t *testing.T) {
	body := bytes.NewReader(make([]byte, 50_000))
	if n := leastAllocs(20, func() {
		body.Seek(0, io.SeekStart)
		if b, err := readBody(body, body.Size()); err != nil || len(*b) != 50_000 {
			t.Fatalf("%d bytes, error %v", len(*b), err)
		}
	}); n > 2 {
		t.Errorf("%g allocations, want the memory's", n)
	}
}

// leastAllocs is AllocsPerRun's least of a few, as goroutines of other tests allocate, too.
func leastAllocs(runs int, f func()) float64 {
	least := math.Inf(1)
	for range 5 {
		least = min(least, testing.AllocsPerRun(runs, f))
	}
	return least
}

// A body's memory is used again after Release, and not before.
func TestRelease(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, strings.Repeat(r.URL.Query().Get("q"), 5000))
	}, nil)
	get := func(q string) *Response {
		resp, err := c.Get(t.Context(), "/?q="+q, nil)
		if err != nil {
			t.Fatal(err)
		}
		return resp
	}
	kept := get("a")
	for range 20 {
		resp := get("b")
		if want := strings.Repeat("b", 5000); string(resp.Body) != want {
			t.Fatal("a body in memory that was used before is not what was sent")
		}
		resp.Release()
		if resp.Release(); resp.Body != nil {
			t.Error("a body is left after its release")
		}
		one, two := get("c"), get("d")
		if one.Body[0] != 'c' || two.Body[0] != 'd' {
			t.Fatal("memory that was released twice is used twice")
		}
	}
	if string(kept.Body) != strings.Repeat("a", 5000) {
		t.Error("a body that was not released has changed")
	}
}

func TestBodyOfAnyLength(t *testing.T) {
	tests := []struct {
		name      string
		size      int
		announced bool
	}{
		{"nothing, announced", 0, true},
		{"nothing, not announced", 0, false},
		{"announced", 50_000, true},
		{"announced, more than is believed at once", 3 * maxRoom, true},
		{"not announced, little", 100, false},
		{"not announced, more than there is room for", 5 * unknownRoom, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			body := strings.Repeat("x", tt.size)
			c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				if tt.announced {
					w.Header().Set("Content-Length", fmt.Sprint(tt.size))
				} else {
					http.NewResponseController(w).Flush()
				}
				io.WriteString(w, body)
			}, nil)
			resp, err := c.Get(t.Context(), "/", nil)
			if err != nil || string(resp.Body) != body {
				t.Errorf("error %v, want %d bytes", err, tt.size)
			}
		})
	}
}
