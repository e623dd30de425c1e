package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Posts of one poll come in the order in which it found them, so that texts are
// looked for, not lines compared.
func TestEveryPostIsPrintedOnce(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), &out); err != nil {
		t.Fatal(err, out.String())
	}
	for n := 1; n <= posts; n++ {
		if got := strings.Count(out.String(), fmt.Sprintf("  post %d\n", n)); got != 1 {
			t.Errorf("post %d is printed %d times", n, got)
		}
		if got := strings.Count(out.String(), fmt.Sprintf("\n%3d  @nasa", n)); got != 1 {
			t.Errorf("seq %d is printed %d times", n, got)
		}
	}
	for _, want := range []string{"connected, resuming after 0\n", "connected, resuming after 4\n", "12 of 12 posts, each once\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing", want)
		}
	}
	if t.Failed() {
		t.Log(out.String())
	}
}
