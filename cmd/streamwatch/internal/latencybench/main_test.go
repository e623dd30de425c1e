package latencybench

import (
	"context"
	"fmt"
	"io"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// asDetector has this test program be a detector of -detector self.
const asDetector = "STREAMWATCH_TEST_DETECTOR"

func TestMain(m *testing.M) {
	if os.Getenv(asDetector) != "" {
		if err := Detector(context.Background(), os.Stdin, os.Stdout, io.Discard); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}
