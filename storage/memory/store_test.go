package memory_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/streamwatch/streamwatch/storage/memory"
)

func TestPrintingAStoreShowsNoSecret(t *testing.T) {
	s, _ := open(t, memory.Options{})
	bind(t, s, acme, "kept")
	for _, verb := range []string{"%v", "%+v", "%#v"} {
		if out := fmt.Sprintf(verb, s); strings.Contains(out, "s3cr3t") {
			t.Errorf("%s shows the secret: %s", verb, out)
		}
	}
}
