package streamwatch_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// unsure is a store whose Begin of a turn is made, and then answers with an error, as after
// a timeout, while err is set.
type unsure struct {
	*memory.Store
	err error
}

func (u *unsure) Answers() fleet.Answers { return unsureAnswers{u.Store.Answers(), u} }

type unsureAnswers struct {
	fleet.Answers
	u *unsure
}

func (a unsureAnswers) Begin(ctx context.Context, q fleet.Request) (*fleet.Answer, error) {
	got, err := a.Answers.Begin(ctx, q)
	if err == nil && strings.HasPrefix(q.ID, "turn of ") {
		err = a.u.err
	}
	return got, err
}

// A turn whose beginning has an unknown outcome stands in nobody's way.
func TestTurnOfUnknownOutcome(t *testing.T) {
	for quota, create := range creations {
		t.Run(quota, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := quotaOf(quota)
				store := &unsure{Store: memory.New(memory.Options{}), err: errors.New("i/o timeout")}
				e := newEngine(t, streamwatch.Config{Fetcher: enginetest.NewPlatform(enginetest.PlatformConfig{}), Store: store, Quotas: q,
					Fleet: &streamwatch.FleetConfig{Name: "one"}})
				if err := create(t.Context(), e, "ann", "a"); !errors.Is(err, store.err) {
					t.Errorf("%v, want the store's error", err)
				}
				store.err = nil
				began := time.Now()
				if err := create(t.Context(), e, "ann", "a"); err != nil || time.Since(began) > 0 {
					t.Errorf("the next one: %v after %s", err, time.Since(began))
				}
			})
		})
	}
}

// An owner whose turn another node has, which may have died, delays no other owner, in
// whatever the owner creates meanwhile.
func TestTurnOfAnOwnerDelaysNoOther(t *testing.T) {
	for quota, create := range creations {
		t.Run(quota, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				one, two, leave := twoNodes(t, quotaOf(quota))
				first, waiting := make(chan error, 1), make(chan error, 20)
				go func() { first <- create(t.Context(), one, "ann", "a") }()
				synctest.Wait()
				for i := range cap(waiting) {
					go func() { waiting <- create(t.Context(), two, "ann", fmt.Sprint("b", i)) }()
				}
				synctest.Wait()
				began := time.Now()
				if err := create(t.Context(), two, "bob", "a"); err != nil || time.Since(began) > 0 {
					t.Errorf("another owner's: %v after %s", err, time.Since(began))
				}
				each := func(monitor.Monitor) error { return nil }
				if err := two.Monitors().Each(t.Context(), each); err != nil || time.Since(began) > 0 {
					t.Errorf("Each: %v after %s", err, time.Since(began))
				}
				for range cap(waiting) {
					if err := <-waiting; !errors.Is(err, streamwatch.ErrBusy) {
						t.Errorf("the same owner's: %v, want ErrBusy", err)
					}
				}
				if took := time.Since(began); took != time.Second {
					t.Errorf("all had their answer after %s, want 1s", took)
				}
				close(leave)
				if err := <-first; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// The same of the turns that an engine gives out itself: an endpoint whose creation hangs
// delays only the owner's others, and those of its monitors and rules.
func TestEndpointThatHangsDelaysNoOtherOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		leave := make(chan struct{})
		hangs := hangingOf{memory.New(memory.Options{}), "ann", leave}
		e := newEngine(t, streamwatch.Config{Fetcher: enginetest.NewPlatform(enginetest.PlatformConfig{}), Store: hangs, Quotas: streamwatch.Quotas{Endpoints: 1}})
		hooked := func(owner string) error {
			_, err := e.Monitors().Create(t.Context(), monitor.CreateRequest{Owner: owner, Name: "m", Usernames: []string{"nasa"}, WebhookURL: "https://hooks.example.com/m"})
			return err
		}
		began := time.Now()
		first, second := make(chan error, 1), make(chan error, 1)
		go func() { first <- creations["endpoints"](t.Context(), e, "ann", "a") }()
		synctest.Wait()
		go func() { second <- hooked("ann") }()
		synctest.Wait()
		if err := creations["endpoints"](t.Context(), e, "bob", "a"); err != nil {
			t.Errorf("another owner's endpoint: %v", err)
		}
		if err := hooked("eve"); err != nil || time.Since(began) > 0 {
			t.Errorf("another owner's monitor: %v after %s", err, time.Since(began))
		}
		close(leave)
		if err := <-first; err != nil {
			t.Error(err)
		}
		wantsQuota(t, <-second, streamwatch.QuotaError{Quota: "endpoints", Limit: 1, Have: 1, Asked: 1})
	})
}

// A creation that hangs has the owner's others wait for it no longer than a change may take,
// whatever their contexts allow.
func TestWaitForATurnIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		leave := make(chan struct{})
		hangs := hangingOf{memory.New(memory.Options{}), "ann", leave}
		e := newEngine(t, streamwatch.Config{Fetcher: enginetest.NewPlatform(enginetest.PlatformConfig{}), Store: hangs, Quotas: streamwatch.Quotas{Endpoints: 1}})
		first := make(chan error, 1)
		go func() { first <- creations["endpoints"](t.Context(), e, "ann", "a") }()
		synctest.Wait()
		for name, create := range map[string]func() error{
			"endpoint": func() error { return creations["endpoints"](context.Background(), e, "ann", "b") },
			"monitor": func() error {
				_, err := e.Monitors().Create(context.Background(), monitor.CreateRequest{Owner: "ann", Name: "m", Usernames: []string{"nasa"}, WebhookURL: "https://hooks.example.com/m"})
				return err
			},
		} {
			began, got := time.Now(), make(chan error, 1)
			go func() { got <- create() }()
			select {
			case err := <-got:
				if took := time.Since(began); !errors.Is(err, streamwatch.ErrBusy) || took < 10*time.Second {
					t.Errorf("%s: %v after %s, want ErrBusy after as long as a change may take", name, err, took)
				}
			case <-time.After(time.Minute):
				t.Errorf("%s: waits still after 1m", name)
			}
		}
		close(leave)
		if err := <-first; err != nil {
			t.Error(err)
		}
	})
}

// hangingOf is a store that keeps the creation of an owner's endpoints waiting until leave is
// closed.
type hangingOf struct {
	*memory.Store
	owner string
	leave chan struct{}
}

func (h hangingOf) Endpoints() deliver.EndpointStore { return hangingEndpoints{h.Store.Endpoints(), h} }

type hangingEndpoints struct {
	deliver.EndpointStore
	h hangingOf
}

func (s hangingEndpoints) Create(ctx context.Context, e deliver.Endpoint) error {
	if e.Source.Owner == s.h.owner {
		<-s.h.leave
	}
	return s.EndpointStore.Create(ctx, e)
}
