package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Erase with the service's file forgets the owner in the service's store.
func TestEraseTakesTheStoreOfTheFile(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	do := func(args ...string) (string, error) {
		var out bytes.Buffer
		err := run(t.Context(), process{noEnv, &out, io.Discard}, args)
		return out.String(), err
	}
	for _, db := range []string{"streamwatch.db", "service.db"} { // the first is that of no -db
		if _, err := do("key", "-owner", "acme", "-db", db); err != nil {
			t.Fatal(err)
		}
	}
	write := func(text string) string {
		t.Helper()
		file := filepath.Join(dir, "streamwatch.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	if out, err := do("erase", "-owner", "acme", "-config", write("platform: bluesky\ndb: service.db\n")); err != nil || !strings.Contains(out, `"keys": 1`) {
		t.Errorf("%s, %v: want the key of the service's store erased", out, err)
	}
	for db, want := range map[string]bool{"service.db": false, "streamwatch.db": true} {
		if out, err := do("keys", "-owner", "acme", "-db", db); err != nil || strings.Contains(out, "key_") != want {
			t.Errorf("%s: %s, %v, want keys: %t", db, out, err, want)
		}
	}
	if _, err := do("erase", "-owner", "acme", "-config", write("redis-env: REDIS_URL\n")); err == nil || !strings.Contains(err.Error(), "REDIS_URL") || status(err) != 78 {
		t.Errorf("error %v, want that REDIS_URL is missing", err)
	}
	if out, err := do("erase", "-owner", "acme", "-db", "streamwatch.db", "-config", write("redis-env: REDIS_URL\n")); err != nil || !strings.Contains(out, `"keys": 1`) {
		t.Errorf("%s, %v: want -db before the file", out, err)
	}
}
