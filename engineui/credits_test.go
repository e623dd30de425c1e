package engineui_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/engineui"
)

// The ledger is read page by page, by the links that pages have.
func TestCredits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		for i := range 120 {
			e := billing.Entry{ID: fmt.Sprint(i), Owner: "acme", Kind: billing.KindMonitor, SourceID: "m", SourceName: fmt.Sprintf("line-%03d", i), Amount: -1, At: time.Now()}
			if err := w.store.Ports().Ledger.Append(t.Context(), e); err != nil {
				t.Fatal(err)
			}
		}
		for _, row := range []struct{ viewer, first string }{{"acme", "/credits"}, {"operator", "/credits?owner=acme"}} {
			seen := map[string]bool{}
			path := row.first
			for range 10 {
				status, page := get(w, row.viewer, path)
				if status != http.StatusOK {
					t.Fatalf("%s: status %d", path, status)
				}
				sound(t, page)
				has(t, page, "Available 4.880 Reserved 0.000")
				for i := range 120 {
					if name := fmt.Sprintf("line-%03d", i); strings.Contains(plain(page), name) {
						if seen[name] {
							t.Errorf("%s is there twice", name)
						}
						seen[name] = true
					}
				}
				path = ""
				for _, g := range tags(t, page) {
					if g.attr["rel"] == "next" {
						path = "/" + g.attr["href"]
					}
				}
				if path == "" {
					break
				}
			}
			if len(seen) != 120 {
				t.Errorf("%s sees %d of 120 entries", row.viewer, len(seen))
			}
		}
		if status, page := get(w, "acme", "/credits?cursor=nonsense"); status != http.StatusBadRequest {
			t.Errorf("a cursor of nobody: status %d: %s", status, page)
		}
	})
}

// Without a ledger there is no page of credits.
func TestNoLedger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(_ *streamwatch.Config, ui *engineui.Config) { ui.Ledger = nil })
		if status, _ := get(w, "acme", "/credits"); status != http.StatusNotFound {
			t.Errorf("status %d, want 404", status)
		}
		if _, page := get(w, "acme", "/"); strings.Contains(page, "Credits") {
			t.Error("there is a link to it")
		}
	})
}
