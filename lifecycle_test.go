package streamwatch_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/endpoints"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/storage/memory"
)

func TestRunWatchesAndDelivers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"nasa"}})
		var in inbox
		e := newEngine(t, streamwatch.Config{Fetcher: p, OnEvent: in.handle})
		create(t, e, monitor.CreateRequest{Name: "m", Usernames: []string{"nasa"}, PollInterval: 5 * time.Second})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- e.Run(ctx) }()
		pass(time.Second)
		tw := p.Post("nasa", "Lift-off")
		pass(10 * time.Second)
		if got := in.ids(); !slices.Equal(got, []string{tw.ID}) {
			t.Errorf("handled %v, want %s", got, tw.ID)
		}
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
		if s := e.Stats(); s.Detect.Events != 1 || s.Deliver.Delivered != 1 {
			t.Errorf("stats %+v", s)
		}
	})
}

func TestNewStartsNothing(t *testing.T) {
	before := goleak.IgnoreCurrent()
	e := newEngine(t, streamwatch.Config{Fetcher: enginetest.NewPlatform(enginetest.PlatformConfig{})})
	create(t, e, monitor.CreateRequest{Name: "m", Usernames: []string{"account0001"}})
	goleak.VerifyNone(t, before)
}

func TestLifecycleErrors(t *testing.T) {
	e := newEngine(t, streamwatch.Config{Fetcher: enginetest.NewPlatform(enginetest.PlatformConfig{})})
	if err := e.Shutdown(t.Context()); !errors.Is(err, streamwatch.ErrNotRunning) {
		t.Errorf("Shutdown before Start: %v", err)
	}
	if err := e.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := e.Start(t.Context()); !errors.Is(err, streamwatch.ErrStarted) {
		t.Errorf("Start twice: %v", err)
	}
	if err := e.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if err := e.Shutdown(t.Context()); !errors.Is(err, streamwatch.ErrNotRunning) {
		t.Errorf("Shutdown twice: %v", err)
	}
	if err := e.Start(t.Context()); !errors.Is(err, streamwatch.ErrStarted) {
		t.Errorf("Start after Shutdown: %v", err)
	}
}

func TestThousandStartsLeaveNothingBehind(t *testing.T) {
	before := goleak.IgnoreCurrent()
	p := enginetest.NewPlatform(enginetest.PlatformConfig{})
	for range 1000 {
		e := newEngine(t, streamwatch.Config{Fetcher: p, OnEvent: (&inbox{}).handle})
		create(t, e, monitor.CreateRequest{Name: "m", Usernames: enginetest.AccountNames(10)})
		if err := e.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := e.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	goleak.VerifyNone(t, before)
}

// A store that is given survives the engine: the next one goes on where the
// last stopped.
func TestNextEngineGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"nasa"}})
		store := memory.New(memory.Options{})
		var in inbox
		var want []string
		for round := range 3 {
			e := newEngine(t, streamwatch.Config{Fetcher: p, OnEvent: in.handle, Store: store})
			if round == 0 {
				create(t, e, monitor.CreateRequest{Name: "m", Usernames: []string{"nasa"}, PollInterval: 5 * time.Second})
			}
			if err := e.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			pass(time.Second)
			want = append(want, p.Post("nasa", "while it runs").ID)
			pass(10 * time.Second)
			if err := e.Shutdown(t.Context()); err != nil {
				t.Fatal(err)
			}
			want = append(want, p.Post("nasa", "while it does not").ID)
			pass(time.Minute)
		}
		if got := in.ids(); !slices.Equal(got, want[:5]) {
			t.Errorf("handled %v, want %v", got, want[:5])
		}
		if err := store.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A handler that fails gets the event again.
func TestHandlerGetsTheEventUntilItTakesIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"nasa"}})
		calls := 0
		e := newEngine(t, streamwatch.Config{Fetcher: p, OnEvent: func(context.Context, deliver.Event) error {
			if calls++; calls < 3 {
				return errors.New("database is down")
			}
			return nil
		}})
		create(t, e, monitor.CreateRequest{Name: "m", Usernames: []string{"nasa"}, PollInterval: 5 * time.Second})
		if err := e.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		pass(time.Second)
		p.Post("nasa", "Lift-off")
		pass(5 * time.Minute)
		page, err := e.Log().Deliveries(t.Context(), deliver.LogQuery{})
		if err != nil || len(page.Entries) != 1 || page.Entries[0].State != deliver.StateDelivered || len(page.Entries[0].Log) != 3 {
			t.Errorf("log %+v, %v: want one delivery after three attempts", page, err)
		}
		if err := e.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestPauseResumeDeleteWhileRunning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"nasa"}})
		var in inbox
		e := newEngine(t, streamwatch.Config{Fetcher: p, OnEvent: in.handle})
		if err := e.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		m := create(t, e, monitor.CreateRequest{Name: "m", Usernames: []string{"nasa"}, PollInterval: 5 * time.Second})
		pass(time.Second)
		a := p.Post("nasa", "a").ID
		pass(10 * time.Second)
		if _, err := e.Monitors().Pause(t.Context(), "", m.ID); err != nil {
			t.Fatal(err)
		}
		polls := e.Stats().Detect.Polls
		p.Post("nasa", "while paused")
		pass(time.Hour)
		if n := e.Stats().Detect.Polls; n != polls {
			t.Errorf("%d polls while paused", n-polls)
		}
		if _, err := e.Monitors().Resume(t.Context(), "", m.ID); err != nil {
			t.Fatal(err)
		}
		pass(time.Second)
		b := p.Post("nasa", "b").ID
		pass(10 * time.Second)
		if err := e.Monitors().Delete(t.Context(), "", m.ID); err != nil {
			t.Fatal(err)
		}
		p.Post("nasa", "after the end")
		pass(time.Hour)
		if got := in.ids(); !slices.Equal(got, []string{a, b}) {
			t.Errorf("handled %v, want %v", got, []string{a, b})
		}
		if err := e.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestTroubleShowsInTheMonitor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"nasa", "esa"}})
		e := newEngine(t, streamwatch.Config{Fetcher: p})
		if err := e.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		m := create(t, e, monitor.CreateRequest{Name: "m", Usernames: []string{"nasa", "nsaa"}})
		pass(time.Second)
		got, err := e.Monitors().Get(t.Context(), "", m.ID)
		if err != nil || got.Status != monitor.Active || !strings.HasPrefix(got.StatusReason, "upstream_error: @nsaa") {
			t.Errorf("%+v, %v: want an active monitor with a reason that names the account", got, err)
		}
		p.Rename("esa", "nsaa") // and now it exists
		pass(10 * time.Minute)
		if got, _ = e.Monitors().Get(t.Context(), "", m.ID); got.StatusReason != "" {
			t.Errorf("reason %q after the recovery", got.StatusReason)
		}
		if err := e.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// stuck is a Fetcher that ignores its context until released.
type stuck struct{ release chan struct{} }

func (s stuck) Timeline(context.Context, fetcher.TimelineQuery) (fetcher.Page, error) {
	<-s.release
	return fetcher.Page{}, nil
}

func TestShutdownNamesWhoIgnoresTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := stuck{make(chan struct{})}
		e := newEngine(t, streamwatch.Config{Fetcher: s})
		if err := e.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		create(t, e, monitor.CreateRequest{Name: "m", Usernames: []string{"nasa"}})
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		began := time.Now()
		err := e.Shutdown(ctx)
		if err == nil || !strings.Contains(err.Error(), "detector did not stop within 15s: a Fetcher, Sender, handler or Store ignores its context") || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Shutdown: %v", err)
		}
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("Shutdown took %s", took)
		}
		close(s.release) // the goroutines end after all
	})
}

// Who asks while the engine shuts down is answered at once, and holds nothing
// up.
func TestQuestionsDuringShutdown(t *testing.T) {
	var e *streamwatch.Engine
	for what, ask := range map[string]func(context.Context) error{
		"Account": func(ctx context.Context) error { _, _, err := e.Account(ctx, "nasa"); return err },
		"Plan":    func(ctx context.Context) error { _, err := e.Plan(ctx, 1); return err },
		"Spend":   func(ctx context.Context) error { return e.Spend(ctx) },
	} {
		for _, byHandler := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, by a handler %v", what, byHandler), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					answer := func(ctx context.Context) {
						from := time.Now()
						if err := ask(ctx); err != nil && !errors.Is(err, streamwatch.ErrNotRunning) {
							t.Errorf("%v, want an answer or ErrNotRunning", err)
						}
						if took := time.Since(from); took > 0 {
							t.Errorf("took %v", took)
						}
					}
					p := enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"nasa"}})
					handled := false
					e = newEngine(t, streamwatch.Config{Fetcher: p, OnEvent: func(ctx context.Context, _ deliver.Event) error {
						pass(3 * time.Second)
						if byHandler {
							answer(ctx)
						}
						handled = true
						return nil
					}})
					create(t, e, monitor.CreateRequest{Name: "m", Usernames: []string{"nasa"}, PollInterval: time.Second})
					if err := e.Start(t.Context()); err != nil {
						t.Fatal(err)
					}
					pass(2 * time.Second)
					p.Post("nasa", "hello")
					pass(time.Second + time.Millisecond)
					ended := make(chan error, 1)
					from := time.Now()
					go func() { ended <- e.Shutdown(context.Background()) }()
					pass(time.Second)
					if !byHandler {
						answer(t.Context())
					}
					if err := <-ended; err != nil || !handled || time.Since(from) > 3*time.Second {
						t.Errorf("Shutdown: %v after %v, the event handled: %v", err, time.Since(from), handled)
					}
				})
			})
		}
	}
}

func TestEndpointsAndPrice(t *testing.T) {
	e := newEngine(t, streamwatch.Config{Fetcher: enginetest.NewPlatform(enginetest.PlatformConfig{}), Pricing: flat{}})
	m := create(t, e, monitor.CreateRequest{Owner: "acme", Name: "m", Usernames: enginetest.AccountNames(3), WebhookURL: "https://one.example.com/"})
	if m.WebhookSecret == "" {
		t.Error("a generated secret must be shown")
	}
	src := deliver.Source{Kind: deliver.SourceMonitor, ID: m.ID, Owner: "acme", Name: m.Name}
	if _, err := e.Endpoints().Create(t.Context(), endpoints.NewEndpoint{Source: src, URL: "https://two.example.com/"}); err != nil {
		t.Errorf("a second endpoint of a monitor: %v", err)
	}
	moved := "https://three.example.com/"
	if _, err := e.Monitors().Update(t.Context(), "acme", m.ID, monitor.UpdateRequest{WebhookURL: &moved}); err != nil {
		t.Fatal(err)
	}
	urls := func() (out []string) {
		list, err := e.Endpoints().List(t.Context(), "acme", m.ID)
		if err != nil {
			t.Fatal(err)
		}
		for _, ep := range list {
			out = append(out, ep.URL)
		}
		slices.Sort(out)
		return out
	}
	if got := urls(); !slices.Equal(got, []string{moved, "https://two.example.com/"}) {
		t.Errorf("endpoints %v after the move", got)
	}
	if got := e.Price(m.Monitor).PerDay; got != 3*billing.Credit {
		t.Errorf("price %d, want that of Config.Pricing", got)
	}
	if err := e.Monitors().Delete(t.Context(), "acme", m.ID); err != nil {
		t.Fatal(err)
	}
	if got := urls(); len(got) != 0 {
		t.Errorf("endpoints %v after the monitor is gone", got)
	}
}

// flat is a price list of one credit per account and day.
type flat struct{ billing.Presets }

func (flat) Monitor(accounts int) billing.Price {
	return billing.Price{PerAccountPerDay: billing.Credit, PerDay: billing.Credits(accounts) * billing.Credit, Tier: "flat"}
}

// Shutdown waits for a Start under way no longer than its context allows.
func TestShutdownWhileStartHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFleetWorld(t, 10)
		n := w.engine("a")
		n.store.severed.Store(true) // it tries to join for a lease
		started := make(chan error, 1)
		go func() { started <- n.Start(t.Context()) }()
		synctest.Wait()
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := n.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Second {
			t.Errorf("Shutdown: %v after %s, want its context's error after 1s", err, time.Since(began))
		}
		if err := <-started; !errors.Is(err, errSevered) {
			t.Errorf("Start: %v, want the store's error", err)
		}
		if err := n.Shutdown(t.Context()); !errors.Is(err, streamwatch.ErrNotRunning) {
			t.Errorf("Shutdown after a Start that failed: %v", err)
		}
	})
}
