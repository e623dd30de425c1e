package feed_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/streamwatch/streamwatch/fetcher/feed"
)

func TestUserAgent(t *testing.T) {
	for _, tt := range []struct {
		cfg  feed.Config
		want string
	}{
		{feed.Config{}, "streamwatch/1 (+https://github.com/streamwatch/streamwatch)"},
		{feed.Config{Contact: "ops@example.com"}, "streamwatch/1 (+ops@example.com)"},
		{feed.Config{Contact: "ops@example.com", UserAgent: "x/2"}, "x/2"},
	} {
		f, s := serving(t, func(c *feed.Config) { c.Contact, c.UserAgent = tt.cfg.Contact, tt.cfg.UserAgent }, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, items("a")) })
		newReader(t, f).read()
		if got := s.requests[0].Header.Get("User-Agent"); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}

// A Memory that fails fails the read, which is then made again. New entries are saved, and nothing
// else.
func TestMemoryFails(t *testing.T) {
	m, body := &failing{}, items("a")
	f, _ := serving(t, func(c *feed.Config) { c.Memory = m }, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, body) })
	r := newReader(t, f)
	for _, m.err = range []error{errors.New("disk full"), nil} {
		if _, err := r.try(); !errors.Is(err, m.err) {
			t.Errorf("error %v, want %v", err, m.err)
		}
	}
	for _, body = range []string{items("b", "a"), items("a", "b"), items("a")} {
		r.read()
	}
	if m.saves != 3 {
		t.Errorf("saved %d times, want the first entry twice and the second once", m.saves)
	}
	gone := filepath.Join(t.TempDir(), "gone")
	dir, err := feed.NewDir(gone)
	if err != nil || os.Remove(gone) != nil {
		t.Fatal(err)
	}
	for name, m := range map[string]feed.Memory{"of another format": &failing{state: []byte(`{"format": 99}`)}, "that is no JSON": &failing{state: []byte(`{`)},
		"that cannot be read": &failing{load: errors.New("disk full")}, "in a directory that is gone": dir} {
		f, _ := serving(t, func(c *feed.Config) { c.Memory = m }, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, items("a")) })
		if _, err := newReader(t, f).try(); err == nil {
			t.Errorf("a state %s is taken", name)
		}
	}
	for _, path := range []string{"", "memory_test.go/x"} {
		if _, err := feed.NewDir(path); err == nil {
			t.Errorf("a directory %q is made", path)
		}
	}
}

type failing struct {
	err   error // of Save
	load  error
	state []byte
	saves int
}

func (m *failing) Load(context.Context, string) ([]byte, error) { return m.state, m.load }

func (m *failing) Save(_ context.Context, _ string, state []byte) error {
	if m.saves++; m.err == nil {
		m.state = state
	}
	return m.err
}
