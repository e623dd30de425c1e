package monitor_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/dispatch"
	"github.com/streamwatch/streamwatch/deliver/endpoints"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/secret"
)

// real is a Webhooks on a real endpoints.Manager and store, as the engine has it.
// It is the engine's adapter, which is not exported.
type real struct{ m *endpoints.Manager }

func (w real) Check(url string, key secret.Value) error { return w.m.Check(url, key) }

func (w real) Change(ctx context.Context, m monitor.Monitor, from, to string, key secret.Value) (secret.Value, error) {
	if from != "" {
		list, err := w.m.List(ctx, m.Owner, m.ID)
		if err != nil {
			return "", err
		}
		for _, e := range list {
			if e.URL != from {
				continue
			}
			if to == "" {
				return "", w.m.Delete(ctx, m.Owner, e.ID)
			}
			u := endpoints.Update{URL: &to}
			if key != "" {
				u.Secret = &key
			}
			_, err := w.m.Update(ctx, m.Owner, e.ID, u)
			return "", err
		}
	}
	if to == "" {
		return "", nil
	}
	e, err := w.m.Create(ctx, endpoints.NewEndpoint{Source: deliver.Source{Kind: deliver.SourceMonitor, ID: m.ID, Owner: m.Owner}, URL: to, Secret: key})
	if err != nil || key != "" {
		return "", err
	}
	return e.Secret, nil
}

func (w real) Unbind(ctx context.Context, m monitor.Monitor) error {
	list, err := w.m.List(ctx, m.Owner, m.ID)
	for _, e := range list {
		err = errors.Join(err, w.m.Delete(ctx, m.Owner, e.ID))
	}
	return err
}

type noSender struct{}

func (noSender) Send(context.Context, *deliver.Delivery) deliver.Result { return deliver.Result{} }

func newRealDesk(t *testing.T) *desk {
	t.Helper()
	d := newDesk(t)
	disp, err := dispatch.New(dispatch.Config{Outbox: d.store.Outbox(), Endpoints: d.store.Endpoints(),
		Senders: map[string]deliver.Sender{"https": noSender{}}})
	if err != nil {
		t.Fatal(err)
	}
	em, err := endpoints.New(endpoints.Config{Store: d.store.Endpoints(), Dispatcher: disp})
	if err != nil {
		t.Fatal(err)
	}
	if d.Manager, err = monitor.NewManager(monitor.Config{Store: d.store.Monitors(), Tracker: d, Webhooks: real{em}}); err != nil {
		t.Fatal(err)
	}
	return d
}

func (d *desk) endpoints(t *testing.T, id string) []deliver.Endpoint {
	t.Helper()
	es, err := d.store.Endpoints().List(t.Context(), "acme", id)
	if err != nil {
		t.Fatal(err)
	}
	return es
}

// An update that is refused (the name is taken) has changed the signing
// secret all the same: the receiver refuses every event from then on.
func TestRefusedUpdateKeepsTheSecret(t *testing.T) {
	d := newRealDesk(t)
	create(t, d, func(r *monitor.CreateRequest) { r.Name = "taken" })
	c := create(t, d, nil)
	before := d.endpoints(t, c.ID)
	_, err := d.Update(t.Context(), "acme", c.ID, monitor.UpdateRequest{Name: ptr("taken"),
		WebhookSecret: ptr(secret.Value("another-secret-of-32-characters!"))})
	if !errors.Is(err, monitor.ErrDuplicate) {
		t.Fatalf("Update: %v", err)
	}
	if after := d.endpoints(t, c.ID); after[0].Secret != before[0].Secret {
		t.Error("the update was refused, and the secret is another")
	}
}

// An update that is refused has removed the endpoint: what was open for it
// has failed, and the endpoint made anew has a secret that nobody was shown.
func TestRefusedUpdateKeepsTheEndpoint(t *testing.T) {
	for name, r := range map[string]monitor.UpdateRequest{
		"removed": {Name: ptr("taken"), WebhookURL: ptr("")},
		"moved":   {Name: ptr("taken"), WebhookURL: ptr("https://other.example.com/"), WebhookSecret: ptr(secret.Value("another-secret-of-32-characters!"))},
	} {
		t.Run(name, func(t *testing.T) {
			d := newRealDesk(t)
			create(t, d, func(r *monitor.CreateRequest) { r.Name = "taken" })
			c := create(t, d, nil)
			before := d.endpoints(t, c.ID)
			if _, err := d.Update(t.Context(), "acme", c.ID, r); !errors.Is(err, monitor.ErrDuplicate) {
				t.Fatalf("Update: %v", err)
			}
			after := d.endpoints(t, c.ID)
			if len(after) != 1 || after[0].ID != before[0].ID {
				t.Errorf("the endpoint was deleted and made anew: its open deliveries have failed")
			}
			if len(after) == 1 && after[0].Secret != before[0].Secret {
				t.Error("the endpoint has another secret, which was never shown")
			}
		})
	}
}

// The tracker fails after the record was stored: the endpoint is taken
// back, the record is not. The retry sees no change and makes no endpoint:
// the monitor names a webhook that gets nothing.
func TestFailedTrackLeavesRecordAndEndpointAgreed(t *testing.T) {
	for name, first := range map[string]string{"added": "", "moved": "https://first.example.com/"} {
		t.Run(name, func(t *testing.T) {
			d := newRealDesk(t)
			c := create(t, d, func(r *monitor.CreateRequest) { r.WebhookURL = first })
			d.trackErr = context.DeadlineExceeded // such as Set that waited too long
			r := monitor.UpdateRequest{WebhookURL: ptr("https://h2.example.com/")}
			if _, err := d.Update(t.Context(), "acme", c.ID, r); err == nil {
				t.Fatal("Update: want an error")
			}
			d.trackErr = nil
			u, err := d.Update(t.Context(), "acme", c.ID, r) // the caller tries again
			if err != nil {
				t.Fatal(err)
			}
			es := d.endpoints(t, c.ID)
			if len(es) != 1 || es[0].URL != u.WebhookURL {
				t.Errorf("the monitor says %s, its endpoints are %v", u.WebhookURL, es)
			}
		})
	}
}

// Endpoints that could not be removed with their monitor stay for ever.
func TestDeleteCanBeRepeated(t *testing.T) {
	d := newDesk(t)
	c := create(t, d, nil)
	fail := &failingUnbind{desk: d, err: errors.New("store is down")}
	var err error
	if d.Manager, err = monitor.NewManager(monitor.Config{Store: d.store.Monitors(), Tracker: d, Webhooks: fail}); err != nil {
		t.Fatal(err)
	}
	if err := d.Delete(t.Context(), "acme", c.ID); err == nil {
		t.Fatal("want an error")
	}
	fail.err = nil
	if err := d.Delete(t.Context(), "acme", c.ID); err != nil {
		t.Errorf("again: %v", err)
	}
	if d.webhooks[c.ID] != "" {
		t.Error("the endpoint is still there")
	}
}

type failingUnbind struct {
	*desk
	err error
}

func (f *failingUnbind) Unbind(ctx context.Context, m monitor.Monitor) error {
	if f.err != nil {
		return f.err
	}
	return f.desk.Unbind(ctx, m)
}

// A reason that could not be written once is never written: a monitor that
// recovered shows its error for ever.
func TestReasonIsWrittenInTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		fail := &failingStore{Store: d.store.Monitors()}
		var err error
		if d.Manager, err = monitor.NewManager(monitor.Config{Store: fail, Tracker: d, Webhooks: d}); err != nil {
			t.Fatal(err)
		}
		c := create(t, d, nil)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- d.Run(ctx) }()
		d.Report("acme", c.ID, "NASA", errors.New("not found"))
		synctest.Wait()
		fail.err = errors.New("connection reset") // once
		d.Report("acme", c.ID, "NASA", nil)
		<-time.After(time.Hour)
		if got, _ := d.Get(t.Context(), "acme", c.ID); got.StatusReason != "" {
			t.Errorf("reason %q an hour after the recovery", got.StatusReason)
		}
		cancel()
		<-done
	})
}

type failingStore struct {
	monitor.Store
	err error
}

func (f *failingStore) Update(ctx context.Context, m monitor.Monitor) error {
	if err := f.err; err != nil {
		f.err = nil
		return err
	}
	return f.Store.Update(ctx, m)
}
