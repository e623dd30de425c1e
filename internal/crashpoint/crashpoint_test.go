package crashpoint_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/streamwatch/streamwatch/internal/crashpoint"
)

// childPoint names the environment variable by which the test runs itself as
// the process that dies.
const childPoint = "STREAMWATCH_TEST_CRASHPOINT"

func TestMain(m *testing.M) {
	if name, ok := os.LookupEnv(childPoint); ok {
		if name != "" {
			crashpoint.Arm(name, 2)
		}
		for i := range 5 {
			fmt.Print(i)
			crashpoint.Hit("here")
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestHit(t *testing.T) {
	for _, row := range []struct {
		name, armed, printed string
		killed               bool
	}{
		{"nothing is armed", "", "01234", false},
		{"another point is armed", "there", "01234", false},
		{"the point is passed twice and ends the process", "here", "012", true},
	} {
		t.Run(row.name, func(t *testing.T) {
			child := exec.Command(os.Args[0])
			child.Env = append(os.Environ(), childPoint+"="+row.armed)
			out, err := child.Output()
			if string(out) != row.printed {
				t.Errorf("printed %q, want %q", out, row.printed)
			}
			var exit *exec.ExitError
			if killed := errors.As(err, &exit) && exit.ExitCode() == -1; killed != row.killed {
				t.Errorf("ended with %v, want killed %t", err, row.killed)
			}
		})
	}
}

func BenchmarkHitOff(b *testing.B) {
	for range b.N {
		crashpoint.Hit("here")
	}
}
