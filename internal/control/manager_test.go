package control_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/internal/control"
	"github.com/streamwatch/streamwatch/internal/invalid"
	"github.com/streamwatch/streamwatch/secret"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Each way through a Manager, with each port failing on it: what is called in which
// order, and what is left.
func TestWays(t *testing.T) {
	ctx := t.Context()
	const first, second = "https://a.example.com/", "https://b.example.com/"
	type op = func(d *desk, id string) error
	create := func(d *desk, _ string) error {
		_, _, err := d.Create(ctx, thing{Owner: "o", Text: "moon", URL: first}, "")
		return err
	}
	move := func(d *desk, id string) error {
		url := second
		_, _, err := d.Update(ctx, "o", id, control.Request{WebhookURL: &url}, func(r *thing, _ time.Time) error {
			r.Text = "mars"
			return nil
		})
		return err
	}
	status := func(s control.Status) op {
		return func(d *desk, id string) error {
			_, _, err := d.Update(ctx, "o", id, control.Request{Status: &s}, func(*thing, time.Time) error { return nil })
			return err
		}
	}
	suspend := func(d *desk, id string) error {
		_, err := d.Suspend(ctx, "o", id, control.ReasonCredits)
		return err
	}
	restore := func(d *desk, id string) error {
		_, err := d.Restore(ctx, "o", id, control.ReasonCredits)
		return err
	}
	remove := func(d *desk, id string) error { return d.Delete(ctx, "o", id, 0) }
	const none, was, changed = "[] [] []", "[moon active  /a] [moon] [a]", "[mars active  /b] [mars] [b]"
	const suspended = "[moon paused insufficient_credits /a] [] [a]"
	for _, row := range []struct {
		name  string
		setup []op
		do    op
		fails string // the port call that fails, "" for none
		calls string
		left  string // stored, tracked, endpoints
	}{
		{"create", nil, create, "", "admit change create track done", was},
		{"create", nil, create, "admit", "admit", none},
		{"create", nil, create, "change", "admit change done", none},
		{"create", nil, create, "create", "admit change create untrack delete unbind done", none},
		{"create", nil, create, "track", "admit change create track untrack delete unbind done", none},
		{"update", []op{create}, move, "", "admit update change track done", changed},
		{"update", []op{create}, move, "admit", "admit", was},
		{"update", []op{create}, move, "update", "admit update track done", was},
		{"update", []op{create}, move, "change", "admit update change update done", was},
		{"update", []op{create}, move, "track", "admit update change track done", "[mars active  /b] [moon] [b]"}, // the same call again completes it
		{"pause", []op{create}, status(control.Paused), "", "admit update untrack done", "[moon paused paused_by_user /a] [] [a]"},
		{"pause of a suspended record", []op{create, suspend}, status(control.Paused), "", "admit update untrack done", "[moon paused paused_by_user /a] [] [a]"},
		{"resume", []op{create, status(control.Paused)}, status(control.Active), "", "admit update track done", was},
		{"suspend", []op{create}, suspend, "", "advance admit update untrack done", suspended},
		{"suspend", []op{create}, suspend, "advance", "advance", was},
		{"suspend", []op{create}, suspend, "admit", "advance admit", was},
		{"suspend", []op{create}, suspend, "update", "advance admit update track done", was},
		{"suspend", []op{create}, suspend, "untrack", "advance admit update untrack update track done", was},
		{"suspend of a suspended record", []op{create, suspend}, suspend, "", "", suspended},
		{"restore", []op{create, suspend}, restore, "", "admit update track done", was},
		{"restore", []op{create, suspend}, restore, "admit", "admit", suspended},
		{"restore", []op{create, suspend}, restore, "track", "admit update track update untrack done", suspended},
		{"restore of an active record", []op{create}, restore, "", "", was},
		{"restore of what its owner paused", []op{create, suspend, status(control.Paused)}, restore, "", "", "[moon paused paused_by_user /a] [] [a]"},
		{"delete", []op{create}, remove, "", "untrack unbind delete", none},
		{"delete", []op{create}, remove, "untrack", "untrack track", was},
		{"delete", []op{create}, remove, "unbind", "untrack unbind track", was},
		{"delete", []op{create}, remove, "delete", "untrack unbind delete track", "[moon active  /a] [moon] []"},
		{"delete of a suspended record", []op{create, suspend}, remove, "unbind", "untrack unbind", suspended},
	} {
		t.Run(strings.TrimSpace(row.name+" "+row.fails), func(t *testing.T) {
			d := newDesk()
			id := ""
			for _, do := range row.setup {
				if err := do(d, id); err != nil {
					t.Fatal(err)
				}
				for id = range d.stored {
				}
			}
			d.calls, d.fails[row.fails] = nil, true
			err := row.do(d, id)
			if (err != nil) != (row.fails != "") || err != nil && !errors.Is(err, errDown) {
				t.Errorf("error %v", err)
			}
			if got := strings.Join(d.calls, " "); got != row.calls {
				t.Errorf("calls %s\nwant  %s", got, row.calls)
			}
			if got := d.state(); got != row.left {
				t.Errorf("left %s\nwant %s", got, row.left)
			}
		})
	}
}

// state shows what is stored, tracked and bound.
func (d *desk) state() string {
	var stored, tracked, urls []string
	short := strings.NewReplacer("https://", "", ".example.com/", "")
	for _, r := range d.stored {
		stored = append(stored, fmt.Sprintf("%s %s %s /%s", r.Text, r.Status, r.Reason, short.Replace(r.URL)))
	}
	for _, r := range d.tracked {
		tracked = append(tracked, r.Text)
	}
	for _, url := range d.urls {
		urls = append(urls, short.Replace(url))
	}
	return fmt.Sprint(stored, tracked, urls)
}

// What a request may not ask for is refused before any port is called.
func TestRefusals(t *testing.T) {
	d := newDesk()
	r, generated, err := d.Create(t.Context(), thing{Owner: "o", Text: "moon", URL: "https://a.example.com/"}, "")
	if err != nil || generated != "generated" || r.Version != 1 || !strings.HasPrefix(r.ID, "thg_") || !r.SecretSet || r.Since.IsZero() {
		t.Fatalf("created %+v, %q, %v", r, generated, err)
	}
	d.calls = nil
	update := func(q control.Request, change func(*thing)) error {
		_, _, err := d.Update(t.Context(), "o", r.ID, q, func(r *thing, _ time.Time) error {
			change(r)
			return nil
		})
		return err
	}
	none, stopped, empty, key := func(*thing) {}, control.Status("stopped"), "", secret.Value("a-secret-of-24-characters")
	noKey := secret.Value("")
	for want, err := range map[string]error{
		`owner "\n" is not allowed`:           update(control.Request{}, func(r *thing) { r.Owner = "\n" }),
		`text "" is not allowed`:              update(control.Request{}, func(r *thing) { r.Text = "" }),
		`status "stopped" is not allowed`:     update(control.Request{Status: &stopped}, none),
		`webhook_secret "***" is not allowed`: update(control.Request{WebhookURL: &empty, WebhookSecret: &key}, none),
		`24 to 128 characters, for a thing`:   update(control.Request{WebhookSecret: &noKey}, none),
		"thing: changed meanwhile":            update(control.Request{Version: 7}, none),
	} {
		if err == nil || !strings.HasPrefix(err.Error(), "thing: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %s", err, want)
		}
	}
	if err := d.Delete(t.Context(), "o", r.ID, 7); !errors.Is(err, errConflict) {
		t.Errorf("deletion of another version: %v", err)
	}
	if err := d.Delete(t.Context(), "p", r.ID, 0); !errors.Is(err, errNotFound) {
		t.Errorf("deletion of another's record: %v", err)
	}
	if len(d.calls) > 0 {
		t.Errorf("called %v", d.calls)
	}
	for _, row := range []struct {
		page, size int
		status     control.Status
		field      string // that is refused, "" for none
	}{{0, 0, "", ""}, {3, 100, control.Paused, ""}, {-1, 20, "", "page"}, {1, 101, "", "page_size"}, {1, -1, "", "page_size"}, {1, 1, "stopped", "status"}} {
		page, size := row.page, row.size
		err := d.CheckPage(&page, &size, row.status)
		var fe *invalid.FieldError
		if (err != nil) != (row.field != "") || errors.As(err, &fe) && fe.Field != row.field {
			t.Errorf("%+v: %v", row, err)
		}
		if err == nil && (page != max(row.page, 1) || row.size == 0 && size != 20) {
			t.Errorf("%+v: page %d of %d", row, page, size)
		}
	}
}

// A change waits for the one under way, as long as its context allows.
func TestChangesComeOneAfterTheOther(t *testing.T) {
	d := newDesk()
	if _, _, err := d.Create(t.Context(), thing{Owner: "o", Text: "moon"}, ""); err != nil {
		t.Fatal(err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	err := d.Each(t.Context(), func(r thing) error {
		_, merr := d.WebhookMoved(gone, "o", r.ID, "", "https://b.example.com/")
		_, serr := d.Suspend(gone, "o", r.ID, control.ReasonCredits)
		for _, err := range []error{merr, serr, d.Delete(gone, "o", r.ID, 0)} {
			if !errors.Is(err, context.Canceled) || !strings.HasPrefix(err.Error(), "thing: ") {
				t.Errorf("change during Each: %v", err)
			}
		}
		return errDown
	})
	if !errors.Is(err, errDown) || !slices.Equal(d.calls, []string{"admit", "create", "track", "done"}) {
		t.Errorf("%v, called %v", err, d.calls)
	}
}
