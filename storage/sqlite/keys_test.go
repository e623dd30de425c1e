package sqlite_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/streamwatch/streamwatch/apikey"
	"github.com/streamwatch/streamwatch/storage/sqlite"
)

// The file does not have the keys themselves.
func TestFileHoldsNoUsableKey(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store")
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	must(t, err)
	keys, err := apikey.NewManager(apikey.Config{Records: s.Ports().Records})
	must(t, err)
	var issued []apikey.Issued
	for range 20 {
		k, err := keys.Issue(t.Context(), apikey.IssueRequest{Owner: "acme", Name: "production"})
		must(t, err)
		issued = append(issued, k)
	}
	files := func() (all []byte) {
		paths, err := filepath.Glob(path + "*") // with the log beside it
		must(t, err)
		for _, p := range paths {
			content, err := os.ReadFile(p)
			must(t, err)
			all = append(all, content...)
		}
		return all
	}
	for _, when := range []string{"while it is open", "when it is closed"} {
		content := files()
		for _, k := range issued {
			if !bytes.Contains(content, []byte(k.Hash)) {
				t.Fatalf("%s: the hash of a key is not there: this test looks in the wrong place", when)
			}
			if secret := []byte(k.Secret); bytes.Contains(content, secret) || bytes.Contains(content, secret[len(k.Prefix):]) {
				t.Errorf("%s: a key is there in clear", when)
			}
		}
		if when == "while it is open" {
			must(t, s.Close(context.Background()))
		}
	}
}
