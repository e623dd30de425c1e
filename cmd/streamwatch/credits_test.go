package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/storage/sqlite"
)

// An id that is taken by another top-up gives nothing, and says so. The same top-up again is
// no mistake.
func TestCreditsWithAnIDThatIsTaken(t *testing.T) {
	db := filepath.Join(t.TempDir(), "a.db")
	do := func(args string) (string, error) {
		var out bytes.Buffer
		err := run(t.Context(), process{noEnv, &out, io.Discard}, append(strings.Fields(args), "-db", db))
		return out.String(), err
	}
	if _, err := do("key -owner acme"); err != nil { // which makes the database
		t.Fatal(err)
	}
	if _, err := do("credits -owner acme -credits 5 -id invoice-1"); err != nil {
		t.Fatal(err)
	}
	store, err := sqlite.Open(t.Context(), db, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 120 { // more than a page of entries
		err = errors.Join(err, store.Ledger().Append(t.Context(), billing.Entry{ID: fmt.Sprint(i), Owner: "acme", Kind: billing.KindTopUp, Amount: billing.Credit, At: time.Now()}))
	}
	if err = errors.Join(err, store.Close(t.Context())); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"credits -owner acme -credits 6 -id invoice-1":  `-id "invoice-1" is not allowed: the owner was given 5 credits with it: want another id, or the same credits again`,
		"credits -owner other -credits 5 -id invoice-1": `-id "invoice-1" is not allowed: it is taken by another owner, or by an entry that is no longer kept: want another id`,
		"credits -owner acme -credits 5 -id invoice-1":  "",
	} {
		out, err := do(args)
		if want == "" && (err != nil || out != "id   invoice-1\nacme has 125 credits\n") || want != "" && (status(err) != 78 || err.Error() != want || out != "") {
			t.Errorf("%s: status %d, error %v, output %q, want %q", args, status(err), err, out, want)
		}
	}
	if out, err := do("credits -owner other -credits 7"); err != nil || !strings.HasSuffix(out, "other has 7 credits\n") {
		t.Errorf("%q, %v: want what was given without an id that is taken", out, err)
	}
}
