package enginetest_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Demonstrations link this package.
func TestDoesNotLinkTesting(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatalf("go list -deps: %v", err)
	}
	deps := strings.Fields(string(out))
	if !slices.Contains(deps, "net/http") {
		t.Fatalf("go list named %d packages, without net/http", len(deps))
	}
	if slices.Contains(deps, "testing") {
		t.Error("the package depends on testing")
	}
}
