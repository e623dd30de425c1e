package main

import (
	"io"
	"strings"
	"sync"
	"testing"
	"time"
)

// The demonstration loses nothing with a stream, with probes and with both, and says
// what they brought.
func TestDemonstration(t *testing.T) {
	t.Parallel()
	var all sync.WaitGroup
	for name, c := range map[string]struct {
		interval    time.Duration // long where polls must not be first to find what is posted
		push, probe bool
		says, not   string
	}{
		"push":  {interval: 8 * time.Second, push: true, says: "stream: brought ", not: "probes: "},
		"probe": {interval: 8 * time.Second, probe: true, says: "probes: ", not: "stream: "},
		"polls": {interval: 500 * time.Millisecond},
	} {
		all.Go(func() { // each takes seconds, in which it does little
			o := options{posts: 20, accounts: 3, interval: c.interval, lasts: time.Second, push: c.push, probe: c.probe}
			sum, err := demonstrate(t.Context(), o, io.Discard)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				return
			}
			if sum.Posted != 20 || sum.Detected != 20 || sum.Verified != 20 || sum.Lost != 0 || sum.Duplicated != 0 {
				t.Errorf("%s: summary %+v, want 20 posts, each once", name, sum)
			}
			notes := strings.Join(sum.notes, "\n")
			if !strings.Contains(notes, c.says) || c.not != "" && strings.Contains(notes, c.not) {
				t.Errorf("%s: notes %q, want one of %q and none of %q", name, notes, c.says, c.not)
			}
			for _, nothing := range []string{"brought 0 posts", "probes: 0 calls", "showed 0 changes"} {
				if strings.Contains(notes, nothing) {
					t.Errorf("%s: notes %q: the engine took no notice", name, notes)
				}
			}
		})
	}
	all.Wait()
}
