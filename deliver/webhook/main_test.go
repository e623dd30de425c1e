package webhook_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain runs everything with a proxy in the environment, which no request
// may go to. net/http reads these variables once per process.
func TestMain(m *testing.M) {
	for _, name := range []string{"HTTPS_PROXY", "HTTP_PROXY"} {
		os.Setenv(name, "http://127.0.0.1:3128")
	}
	os.Unsetenv("NO_PROXY")
	goleak.VerifyTestMain(m)
}
