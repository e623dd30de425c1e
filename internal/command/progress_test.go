package command_test

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/internal/command"
)

// A log has a line each few seconds, and none for a command that ends at once.
func TestProgress(t *testing.T) {
	for lasts, want := range map[time.Duration]string{time.Second: "", 12 * time.Second: "half, 5s\nhalf, 10s\n"} {
		synctest.Test(t, func(t *testing.T) {
			var out bytes.Buffer
			stop := command.Progress(&out, func() string { return "half" })
			<-time.After(lasts)
			stop()
			if got := strings.TrimRight(out.String(), "\n"); got != strings.TrimRight(want, "\n") {
				t.Errorf("after %s: %q, want %q", lasts, got, want)
			}
		})
	}
}
