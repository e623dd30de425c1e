package heard

import (
	"bytes"
	"errors"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// Output keeps what is written. Its zero value is empty and ready; its methods are safe
// for concurrent use.
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

// String returns all that was written.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// On makes the Write with which the output first contains text call f. f must not wait for later
// writes. On has to be called before the first Write.
func (o *Output) On(text string, f func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.on == nil {
		o.on = map[string]func(){}
	}
	o.on[text] = f
}

// End says that nothing more is written.
func (o *Output) End() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ended = true
	o.more.Broadcast()
}

// Wait waits until a pattern matches what was written, and returns the match and its
// groups. The test fails if the output ends before that.
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
