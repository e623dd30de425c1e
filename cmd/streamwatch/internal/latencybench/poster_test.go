package latencybench

import (
	"strings"
	"testing"
)

func TestCommand(t *testing.T) {
	if err := (&shell{line: "test '{text}' = 'swb-1 text'"}).Post(t.Context(), 0, "swb-1 text"); err != nil {
		t.Error(err)
	}
	if err := (&shell{line: "echo {text} >&2 && exit 3"}).Post(t.Context(), 0, "swb-1"); err == nil || !strings.Contains(err.Error(), "3: swb-1") {
		t.Errorf("error %v, want the exit status and what was said", err)
	}
}
