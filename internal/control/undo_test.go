package control_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/internal/control"
)

// A change of a webhook that failed is undone also on a store that keeps microseconds, and as
// far as possible when another record has the old text by then.
func TestUndoOfAChange(t *testing.T) {
	for name, row := range map[string]struct {
		coarse, taken bool
		left          string
	}{
		"nanoseconds":  {left: "[moon active  /a] [moon] [a]"},
		"microseconds": {coarse: true, left: "[moon active  /a] [moon] [a]"},
		"taken":        {taken: true, left: "[mars active  /a] [mars] [a]"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDesk()
				d.coarse = row.coarse
				r, _, err := d.Create(t.Context(), thing{Owner: "o", Text: "moon", URL: "https://a.example.com/"}, "")
				if err != nil {
					t.Fatal(err)
				}
				running(t, d)
				<-time.After(1234 * time.Nanosecond)
				d.mu.Lock()
				d.fails["change"] = true
				d.lost = func(call string) bool {
					d.down = call == "update"
					return false
				}
				d.mu.Unlock()
				other := "https://b.example.com/"
				_, _, err = d.Update(t.Context(), "o", r.ID, control.Request{WebhookURL: &other}, func(r *thing, _ time.Time) error { r.Text = "mars"; return nil })
				if !errors.Is(err, errDown) {
					t.Errorf("error %v", err)
				}
				d.mu.Lock()
				d.down, d.lost, d.fails = false, nil, map[string]bool{}
				if row.taken {
					d.taken = "moon"
				}
				d.mu.Unlock()
				<-time.After(time.Hour)
				synctest.Wait()
				if got := d.state(); got != row.left {
					t.Errorf("left %s\nwant %s", got, row.left)
				}
			})
		})
	}
}

// What the tracker refuses is not followed again and again. A deletion is finished all the same.
func TestRefusedWhileItIsRepaired(t *testing.T) {
	for name, row := range map[string]struct {
		fails, left string
		tracks      int
	}{
		"a change":   {"", "[moon active  /a] [moon] [a]", 1},
		"a deletion": {"delete", "[] [] []", 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDesk()
				r, _, err := d.Create(t.Context(), thing{Owner: "o", Text: "moon", URL: "https://a.example.com/"}, "")
				if err != nil {
					t.Fatal(err)
				}
				running(t, d)
				d.mu.Lock()
				d.fails["track"], d.fails[row.fails] = true, true
				d.mu.Unlock()
				if row.fails == "" {
					_, _, err = d.Update(t.Context(), "o", r.ID, control.Request{}, func(r *thing, _ time.Time) error { return nil })
				} else {
					err = d.Delete(t.Context(), "o", r.ID, 0)
				}
				if !errors.Is(err, errDown) {
					t.Errorf("error %v", err)
				}
				d.mu.Lock()
				d.calls, d.refuses = nil, true
				d.mu.Unlock()
				<-time.After(7 * time.Second) // the first repair
				synctest.Wait()
				d.mu.Lock()
				d.fails[row.fails] = false
				d.mu.Unlock()
				<-time.After(time.Hour)
				synctest.Wait()
				tracks := 0
				for _, call := range d.calls {
					if call == "track" {
						tracks++
					}
				}
				if got := d.state(); got != row.left || tracks > row.tracks {
					t.Errorf("left %s after %d calls of the tracker, want %s after %d at most", got, tracks, row.left, row.tracks)
				}
			})
		})
	}
}
