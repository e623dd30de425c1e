package planted

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
)

// recorder is the testing.TB passed to a case. It records the case's reports.
type recorder struct {
	testing.TB
	mu   sync.Mutex
	said []string
}

func (r *recorder) Errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.said = append(r.said, fmt.Sprintf(format, args...))
}

func (r *recorder) Error(args ...any) { r.Errorf("%s", fmt.Sprint(args...)) }

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	r.TB.SkipNow() // ends the goroutine of the case's subtest
}

// Reports runs a case in a subtest and returns its reports by Error, Errorf and Fatalf. The
// reports do not fail the test.
func Reports(t *testing.T, run func(testing.TB)) []string {
	t.Helper()
	r := &recorder{}
	t.Run("its case", func(t *testing.T) { r.TB = t; run(r) })
	return r.said
}

// ReportsInBubble is Reports in a testing/synctest bubble.
func ReportsInBubble(t *testing.T, run func(testing.TB)) []string {
	t.Helper()
	r := &recorder{}
	t.Run("its case", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { r.TB = t; run(r) })
	})
	return r.said
}

// Find checks the reports of the case name. sound has its reports for an implementation without
// faults, and wrong has its reports for one with a fault. Find fails the test t if sound is not
// empty, or if no report in wrong contains the text says.
func Find(t testing.TB, name, says string, sound, wrong []string) {
	t.Helper()
	if len(sound) > 0 {
		t.Errorf("%q reports %q of a sound one", name, sound)
	}
	if !slices.ContainsFunc(wrong, func(s string) bool { return strings.Contains(s, says) }) {
		t.Errorf("%q reports %q, want a sentence with %q", name, wrong, says)
	}
}
