package sqlite_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/streamwatch/streamwatch/storage/sqlite"
)

// A file is in use as long as a store has it open and has read it.
func TestInUse(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	for range 2 {
		s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Members().Look(t.Context()); err != nil {
			t.Fatal(err)
		}
		if used, err := sqlite.InUse(t.Context(), path); err != nil || !used {
			t.Errorf("beside an open store: %t, %v, want true", used, err)
		}
		if err := s.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if used, err := sqlite.InUse(t.Context(), path); err != nil || used {
			t.Errorf("beside a closed store: %t, %v, want false", used, err)
		}
	}
	if err := os.WriteFile(path, []byte("something else, of more than a few bytes: no SQLite database, and of the length of its header or more, one hundred bytes."), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlite.InUse(t.Context(), path); !errors.Is(err, sqlite.ErrForeign) {
		t.Errorf("a foreign file: %v, want ErrForeign", err)
	}
}
