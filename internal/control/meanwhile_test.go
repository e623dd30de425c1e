package control_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/internal/control"
)

// A change for any version that meets changes of other processes becomes one of what they have
// made, five times at most. A change for a certain version does not.
func TestUpdateBesideOtherProcesses(t *testing.T) {
	const url = "https://a.example.com/"
	for _, row := range []struct {
		name      string
		conflicts int
		url       bool // whether the change gives the record a webhook_url
		version   int64
		tries     int
		err       error
	}{
		{"none", 0, false, 0, 1, nil},
		{"one", 1, false, 0, 2, nil},
		{"one, with a webhook_url", 1, true, 0, 2, nil},
		{"four", 4, false, 0, 5, nil},
		{"five", 5, false, 0, 5, errConflict},
		{"one, for the version that it had", 1, false, 1, 1, errConflict},
	} {
		t.Run(row.name, func(t *testing.T) {
			d := newDesk()
			r, _, err := d.Create(t.Context(), thing{Owner: "o", Text: "moon"}, "")
			if err != nil {
				t.Fatal(err)
			}
			left := row.conflicts
			d.before = func(call string) {
				if call == "update" && left > 0 {
					left--
					other := d.stored[r.ID]
					other.Reason, other.Version = "of another process", other.Version+1
					d.stored[r.ID] = other
				}
			}
			d.calls = nil
			q := control.Request{Version: row.version}
			if row.url {
				q.WebhookURL = new(string)
				*q.WebhookURL = url
			}
			got, _, err := d.Update(t.Context(), "o", r.ID, q, func(r *thing, _ time.Time) error { r.Text = "sun"; return nil })
			if !errors.Is(err, row.err) {
				t.Fatalf("error %v, want %v", err, row.err)
			}
			admitted, done := count(d.calls, "admit"), count(d.calls, "done")
			if admitted != row.tries || done != row.tries {
				t.Errorf("%d tries, of which %d have ended, want %d", admitted, done, row.tries)
			}
			if err != nil {
				return
			}
			is := d.thing(r.ID)
			if is != got || is.Text != "sun" || d.tracked[r.ID] != is || (d.urls[r.ID] == url) != row.url {
				t.Errorf("%+v is stored, %+v returned, %+v tracked, endpoint %q", is, got, d.tracked[r.ID], d.urls[r.ID])
			}
			if row.conflicts > 0 && is.Reason != "of another process" {
				t.Errorf("reason %q: what the other process has changed is lost", is.Reason)
			}
		})
	}
}

func count(calls []string, name string) int {
	return len(slices.DeleteFunc(slices.Clone(calls), func(c string) bool { return c != name }))
}

// A webhook that cannot be changed is no reason to try again, also if another process changes
// the record before that is undone.
func TestUpdateThatMeetsAnotherWhileItIsUndone(t *testing.T) {
	d := newDesk()
	r, _, err := d.Create(t.Context(), thing{Owner: "o", Text: "moon"}, "")
	if err != nil {
		t.Fatal(err)
	}
	d.fails["change"] = true
	d.before = func(call string) {
		if call == "change" {
			other := d.stored[r.ID]
			other.Version++
			d.stored[r.ID] = other
		}
	}
	d.calls = nil
	url := "https://a.example.com/"
	if _, _, err := d.Update(t.Context(), "o", r.ID, control.Request{WebhookURL: &url}, func(*thing, time.Time) error { return nil }); !errors.Is(err, errDown) {
		t.Errorf("error %v, want the webhook's", err)
	}
	if n := count(d.calls, "change"); n != 1 {
		t.Errorf("the webhook was changed %d times, want once", n)
	}
}
