package heard

import (
	"bytes"
	"errors"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// Output stores all text written to it. The zero value is empty and ready to use. Its methods are
// safe for concurrent use.
type Output struct {
	mu    sync.Mutex
	more  sync.Cond // of mu
	text  bytes.Buffer
	on    map[string]func()
	ended bool
}

// Write appends p to the output. It fails only after End.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	if o.ended {
		o.mu.Unlock()
		return 0, errors.New("heard: a write after the end")
	}
	o.text.Write(p)
	o.more.Broadcast()
	var due []func()
	for text, f := range o.on {
		if strings.Contains(o.text.String(), text) {
			delete(o.on, text)
			due = append(due, f)
		}
	}
	o.mu.Unlock()
	for _, f := range due {
		f()
	}
	return len(p), nil
}

// String returns all text written so far.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// On makes Write call f once, as soon as the output contains text. f must not wait for later
// writes. On must be called before the first Write.
func (o *Output) On(text string, f func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.on == nil {
		o.on = map[string]func(){}
	}
	o.on[text] = f
}

// End makes further calls of Write fail, and ends the calls of Wait.
func (o *Output) End() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ended = true
	o.more.Broadcast()
}

// Wait waits until the regular expression pattern matches the output, and returns the match and
// its groups. The test fails if End is called before that.
func (o *Output) Wait(t testing.TB, pattern string) []string {
	t.Helper()
	form := regexp.MustCompile(pattern)
	o.mu.Lock()
	defer o.mu.Unlock()
	for {
		if m := form.FindStringSubmatch(o.text.String()); m != nil {
			return m
		}
		if o.ended {
			t.Fatalf("no %s in what was written:\n%s", pattern, o.text.String())
		}
		if o.more.L == nil {
			o.more.L = &o.mu
		}
		o.more.Wait()
	}
}
