package control_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/internal/control"
)

// A write that takes effect although the store answers with an error is in effect, at the
// latest when the store answers again: what is stored, tracked and bound agrees.
func TestWritesOfUnknownOutcome(t *testing.T) {
	const first = "https://a.example.com/"
	suspend := func(ctx context.Context, d *desk, id string) error {
		_, err := d.Suspend(ctx, "o", id, control.ReasonCredits)
		return err
	}
	for _, row := range []struct {
		name, lost string // lost is the call whose answer is lost
		suspended  bool   // before
		do         func(ctx context.Context, d *desk, id string) error
		left       string // stored, tracked, endpoints
	}{
		{"suspend", "update", false, suspend, "[moon paused insufficient_credits /a] [] [a]"},
		{"restore", "update", true, func(ctx context.Context, d *desk, id string) error {
			_, err := d.Restore(ctx, "o", id, control.ReasonCredits)
			return err
		}, "[moon active  /a] [moon] [a]"},
		{"change of the text", "update", false, func(ctx context.Context, d *desk, id string) error {
			_, _, err := d.Update(ctx, "o", id, control.Request{}, func(r *thing, _ time.Time) error { r.Text = "mars"; return nil })
			return err
		}, "[mars active  /a] [mars] [a]"},
		{"change of the webhook", "update", false, func(ctx context.Context, d *desk, id string) error {
			other := "https://b.example.com/"
			_, _, err := d.Update(ctx, "o", id, control.Request{WebhookURL: &other}, func(r *thing, _ time.Time) error { r.Text = "mars"; return nil })
			return err
		}, "[moon active  /a] [moon] [a]"},
		{"delete", "delete", false, func(ctx context.Context, d *desk, id string) error { return d.Delete(ctx, "o", id, 0) }, "[] [] []"},
		{"create", "create", false, func(ctx context.Context, d *desk, _ string) error {
			_, _, err := d.Create(ctx, thing{Owner: "o", Text: "mars"}, "")
			return err
		}, "[moon active  /a] [moon] [a]"},
	} {
		for name, unread := range map[string]bool{"": false, " and the store is down for a while": true} {
			t.Run(row.name+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					d := newDesk()
					r, _, err := d.Create(t.Context(), thing{Owner: "o", Text: "moon", URL: first}, "")
					if err != nil {
						t.Fatal(err)
					}
					if row.suspended {
						if err := suspend(t.Context(), d, r.ID); err != nil {
							t.Fatal(err)
						}
					}
					running(t, d)
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					d.lost = func(call string) bool {
						if call != row.lost {
							return false
						}
						d.lost, d.down = nil, unread
						cancel() // the caller has given up, too
						return true
					}
					err = row.do(ctx, d, r.ID)
					if known := row.name == "delete" && !unread; known != (err == nil) || err != nil && !errors.Is(err, errDown) {
						t.Errorf("error %v", err)
					}
					if unread {
						<-time.After(time.Minute)
						d.mu.Lock()
						d.down = false
						d.mu.Unlock()
						<-time.After(5 * time.Minute)
					}
					synctest.Wait()
					if got := d.state(); got != row.left {
						t.Errorf("left %s\nwant %s", got, row.left)
					}
				})
			})
		}
	}
}

// A write that takes effect only after the record has been read again is in effect soon.
func TestWriteThatComesLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk()
		r, _, err := d.Create(t.Context(), thing{Owner: "o", Text: "moon"}, "")
		if err != nil {
			t.Fatal(err)
		}
		running(t, d)
		d.fails["update"] = true
		if _, err := d.Suspend(t.Context(), "o", r.ID, control.ReasonCredits); !errors.Is(err, errDown) {
			t.Errorf("error %v", err)
		}
		d.mu.Lock()
		r.Status, r.Reason, r.Version = control.Paused, control.ReasonCredits, r.Version+1
		d.stored[r.ID] = r
		d.mu.Unlock()
		<-time.After(15 * time.Second)
		synctest.Wait()
		if got, want := d.state(), "[moon paused insufficient_credits /] [] []"; got != want {
			t.Errorf("left %s\nwant %s", got, want)
		}
	})
}

// A record that another process deletes meanwhile is not tracked again.
func TestDeleteOfWhatIsDeletedMeanwhile(t *testing.T) {
	d := newDesk()
	r, _, err := d.Create(t.Context(), thing{Owner: "o", Text: "moon"}, "")
	if err != nil {
		t.Fatal(err)
	}
	d.before = func(call string) {
		if call == "delete" {
			delete(d.stored, r.ID)
		}
	}
	if err := d.Delete(t.Context(), "o", r.ID, 0); !errors.Is(err, errNotFound) {
		t.Errorf("error %v", err)
	}
	if got := d.state(); got != "[] [] []" {
		t.Errorf("left %s", got)
	}
}

// A change of the webhook whose outcome is unknown is undone also if other changes of the
// record come before the store answers again, or as soon as it does.
func TestUndoComesBeforeOtherChanges(t *testing.T) {
	const suspended, active = "[moon paused insufficient_credits /a] [] [a]", "[moon active  /a] [moon] [a]"
	suspend := func(ctx context.Context, d *desk, id string) error {
		_, err := d.Suspend(ctx, "o", id, control.ReasonCredits)
		return err
	}
	rename := func(ctx context.Context, d *desk, id string) error {
		_, _, err := d.Update(ctx, "o", id, control.Request{}, func(r *thing, _ time.Time) error { r.Text = "mars"; return nil })
		return err
	}
	for name, row := range map[string]struct {
		do   func(ctx context.Context, d *desk, id string) error
		lost bool // its answer
		left string
	}{
		"a suspension":                    {suspend, false, suspended},
		"a suspension of unknown outcome": {suspend, true, suspended},
		"a change":                        {rename, false, "[mars active  /a] [mars] [a]"},
		"a change of unknown outcome":     {rename, true, "[mars active  /a] [mars] [a]"},
		"a trouble":                       {func(_ context.Context, d *desk, id string) error { d.Report("o", id, "@x", errDown); return nil }, false, "[moon active upstream_error: @x: port is down /a] [moon] [a]"},
		"a webhook that moved to where it is not": {func(ctx context.Context, d *desk, id string) error {
			_, err := d.WebhookMoved(ctx, "o", id, "https://b.example.com/", "https://c.example.com/")
			return err
		}, false, active},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDesk()
				r, _, err := d.Create(t.Context(), thing{Owner: "o", Text: "moon", URL: "https://a.example.com/"}, "")
				if err != nil {
					t.Fatal(err)
				}
				running(t, d)
				d.lost = func(call string) bool {
					if call != "update" {
						return false
					}
					d.lost, d.down = nil, true
					return true
				}
				other := "https://b.example.com/"
				_, _, err = d.Update(t.Context(), "o", r.ID, control.Request{WebhookURL: &other}, func(*thing, time.Time) error { return nil })
				if !errors.Is(err, errDown) {
					t.Errorf("error %v", err)
				}
				<-time.After(2 * time.Second)
				d.mu.Lock()
				d.down = false
				d.mu.Unlock()
				if row.lost {
					undone := false
					d.mu.Lock()
					d.lost = func(call string) bool { // the first update undoes, the second is the change
						if call == "update" && !undone {
							undone = true
							return false
						}
						if call == "update" {
							d.lost = nil
							return true
						}
						return false
					}
					d.mu.Unlock()
				}
				if err := row.do(t.Context(), d, r.ID); row.lost != errors.Is(err, errDown) {
					t.Errorf("error %v", err)
				}
				<-time.After(time.Hour)
				synctest.Wait()
				if got := d.state(); got != row.left {
					t.Errorf("left %s\nwant %s", got, row.left)
				}
			})
		})
	}
}

// A creation that failed is undone also if the record is changed before that is possible.
func TestFailedCreationIsUndone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk()
		running(t, d)
		d.mu.Lock()
		d.lost = func(call string) bool {
			if call == "create" {
				d.lost, d.down = nil, true
				return true
			}
			return false
		}
		d.mu.Unlock()
		if _, _, err := d.Create(t.Context(), thing{Owner: "o", Text: "moon", URL: "https://a.example.com/"}, ""); !errors.Is(err, errDown) {
			t.Fatalf("error %v", err)
		}
		d.mu.Lock()
		d.down = false
		var id string
		for id = range d.stored {
		}
		d.lost = func(call string) bool { return call == "update" }
		d.mu.Unlock()
		if _, err := d.Suspend(t.Context(), "o", id, control.ReasonCredits); !errors.Is(err, errNotFound) {
			t.Errorf("error %v", err)
		}
		<-time.After(time.Hour)
		synctest.Wait()
		if got := d.state(); got != "[] [] []" {
			t.Errorf("left %s", got)
		}
	})
}

// A change that is stored and cannot be put into effect, as its caller has gone, is in effect
// soon. One that the tracker refuses is not tried again.
func TestStoredChangeIsPutIntoEffect(t *testing.T) {
	status := func(s control.Status) control.Request { return control.Request{Status: &s} }
	for name, row := range map[string]struct {
		request control.Request
		paused  bool // before
		refuses bool
		fails   string // the call that fails
		left    string
		calls   string
	}{
		"resume":          {request: status(control.Active), paused: true, fails: "track", left: "[moon active  /] [moon] []", calls: "admit update track done track"},
		"pause":           {request: status(control.Paused), fails: "untrack", left: "[moon paused paused_by_user /] [] []", calls: "admit update untrack done untrack"},
		"change":          {fails: "track", left: "[mars active  /] [mars] []", calls: "admit update track done track"},
		"change, refused": {fails: "track", refuses: true, left: "[mars active  /] [moon] []", calls: "admit update track done"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDesk()
				r, _, err := d.Create(t.Context(), thing{Owner: "o", Text: "moon"}, "")
				if err != nil {
					t.Fatal(err)
				}
				if row.paused {
					if _, _, err := d.Update(t.Context(), "o", r.ID, status(control.Paused), func(*thing, time.Time) error { return nil }); err != nil {
						t.Fatal(err)
					}
				}
				running(t, d)
				d.mu.Lock()
				d.calls, d.fails[row.fails], d.refuses = nil, true, row.refuses
				d.mu.Unlock()
				_, _, err = d.Update(t.Context(), "o", r.ID, row.request, func(r *thing, _ time.Time) error {
					if row.request.Status == nil {
						r.Text = "mars"
					}
					return nil
				})
				if !errors.Is(err, errDown) {
					t.Errorf("error %v", err)
				}
				if row.fails == "untrack" {
					d.tracked[r.ID] = r
				}
				d.mu.Lock()
				d.fails[row.fails] = false
				d.mu.Unlock()
				<-time.After(15 * time.Second)
				synctest.Wait()
				if got := d.state(); got != row.left {
					t.Errorf("left %s\nwant %s", got, row.left)
				}
				if got := strings.Join(d.calls, " "); got != row.calls {
					t.Errorf("calls %s\nwant  %s", got, row.calls)
				}
			})
		})
	}
}

// A deletion that fails at the record, whose endpoints are gone by then, is finished, unless
// another process changes the record; a change here finishes it first.
func TestDeletionIsFinished(t *testing.T) {
	for name, row := range map[string]struct {
		meanwhile func(ctx context.Context, d *desk, id string) error
		left      string
	}{
		"nothing else happens": {func(context.Context, *desk, string) error { return nil }, "[] [] []"},
		"it is changed": {func(ctx context.Context, d *desk, id string) error {
			if _, err := d.Suspend(ctx, "o", id, control.ReasonCredits); !errors.Is(err, errNotFound) {
				return fmt.Errorf("suspend: %w", err)
			}
			return nil
		}, "[] [] []"},
		"it is deleted again": {func(ctx context.Context, d *desk, id string) error { return d.Delete(ctx, "o", id, 0) }, "[] [] []"},
		"another process changes it": {func(_ context.Context, d *desk, id string) error {
			d.mu.Lock()
			defer d.mu.Unlock()
			r := d.stored[id]
			r.Text, r.Version = "mars", r.Version+1
			d.stored[id] = r
			return nil
		}, "[mars active  /a] [mars] []"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDesk()
				r, _, err := d.Create(t.Context(), thing{Owner: "o", Text: "moon", URL: "https://a.example.com/"}, "")
				if err != nil {
					t.Fatal(err)
				}
				running(t, d)
				d.fails["delete"] = true
				if err := d.Delete(t.Context(), "o", r.ID, 0); !errors.Is(err, errDown) {
					t.Errorf("error %v", err)
				}
				if got, want := d.state(), "[moon active  /a] [moon] []"; got != want {
					t.Errorf("while the deletion cannot be made: left %s\nwant %s", got, want)
				}
				d.mu.Lock()
				d.fails["delete"] = false
				d.mu.Unlock()
				if err := row.meanwhile(t.Context(), d, r.ID); err != nil {
					t.Error(err)
				}
				<-time.After(15 * time.Second)
				synctest.Wait()
				if got := d.state(); got != row.left {
					t.Errorf("left %s\nwant %s", got, row.left)
				}
			})
		})
	}
}
