package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/storage/sqlite"
)

// full is an output on a disk that is full.
type full struct{}

var errFull = errors.New("no space left on device")

func (full) Write([]byte) (int, error) { return 0, errFull }

// What a command could not tell is an error, which says what was done; a key that nobody has
// seen is revoked.
func TestOutputThatCannotBeWritten(t *testing.T) {
	db := filepath.Join(t.TempDir(), "a.db")
	config := written(t, "seal-key: "+newSealKey+"\ndb: "+db)
	do := func(out io.Writer, args ...string) error {
		return run(t.Context(), process{Env: noEnv, Out: out, Logs: io.Discard}, append(args, "-config", config))
	}
	var shown bytes.Buffer
	if err := do(&shown, "key", "-owner", "acme"); err != nil {
		t.Fatal(err)
	}
	id := regexp.MustCompile(`key_\S+`).FindString(shown.String())
	copied := filepath.Join(t.TempDir(), "copy.db")
	for args, want := range map[string]string{
		"key -owner new -credits 5":                    `^key key_\S+ is revoked again, as it cannot be shown: `,
		"keys -owner acme":                             ``,
		"credits -owner acme -credits 5 -id invoice-1": `^the credits are given with -id "invoice-1", but how many there are cannot be shown: `,
		"revoke -owner acme -id " + id:                 `^what was asked for is done, but the output cannot be written: `,
		"reseal":                                       `^what was asked for is done, but the output cannot be written: `,
		"backup -to COPIED":                            `^what was asked for is done, but the output cannot be written: `,
		"version":                                      ``,
	} {
		words := strings.Fields(args)
		if last := len(words) - 1; words[last] == "COPIED" { // its folder may have spaces
			words[last] = copied
		}
		if words[0] == "version" {
			if err := run(t.Context(), process{Env: noEnv, Out: full{}, Logs: io.Discard}, words); status(err) != 1 || !errors.Is(err, errFull) {
				t.Errorf("version: status %d, %v", status(err), err)
			}
			continue
		}
		if err := do(full{}, words...); status(err) != 1 || !errors.Is(err, errFull) || !regexp.MustCompile(want).MatchString(err.Error()) {
			t.Errorf("%s: status %d, error %v, want %q", args, status(err), err, want)
		}
	}
	if _, err := os.Stat(copied); err != nil {
		t.Error(err)
	}
	for _, owner := range []string{"new", "acme"} {
		shown.Reset()
		if err := do(&shown, "keys", "-owner", owner); err != nil || strings.Contains(shown.String(), "true") || !strings.Contains(shown.String(), "false") {
			t.Errorf("keys of %s: %v, %s: want one that is revoked", owner, err, &shown)
		}
	}
	store, err := sqlite.Open(t.Context(), db, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close(t.Context())
	for owner, want := range map[string]billing.Credits{"new": 0, "acme": 5 * billing.Credit} {
		if b, err := store.Ports().Ledger.Balance(t.Context(), owner); err != nil || b.Available != want {
			t.Errorf("%s has %d, %v, want %d", owner, b.Available, err, want)
		}
	}
}

// A demonstration whose key nobody sees is none.
func TestDemoWhoseKeyCannotBeShown(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := run(ctx, process{Env: noEnv, Out: full{}, Logs: io.Discard}, strings.Fields("serve -demo -addr 127.0.0.1:0")); !errors.Is(err, errFull) {
		t.Errorf("error %v, want that of the output", err)
	}
}
