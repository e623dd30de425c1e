package streamwatch_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/monitor"
)

// An account that a monitor names twice, with its source and without, is one account: in
// the quota, in the price, in what is read of it and in what is told of it.
func TestAccountNamedTwiceIsOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one, two := enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"ann"}}), enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"ann"}})
		e := newEngine(t, streamwatch.Config{Quotas: streamwatch.Quotas{MonitorAccounts: 2}, Sources: []streamwatch.Source{
			{Name: "one", Fetcher: one}, {Name: "two", Fetcher: two}}})
		if err := e.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		m := create(t, e, monitor.CreateRequest{Name: "m", PollInterval: time.Second,
			Usernames: []string{"ann", "one:ann", "@ONE:Ann", "one:@ann", "@ann", "two:ann", "two:@ann"}})
		wants := func(m monitor.Monitor, want ...string) {
			t.Helper()
			if got := m.Usernames(); strings.Join(got, " ") != strings.Join(want, " ") {
				t.Errorf("accounts %q, want %q", got, want)
			}
		}
		wants(m.Monitor, "ann", "two:ann")
		began := m.Accounts[0].Since
		pass(time.Hour)
		names := []string{"one:ann", "two:ann", "ann"}
		u, err := e.Monitors().Update(t.Context(), "", m.ID, monitor.UpdateRequest{Usernames: &names})
		if err != nil {
			t.Fatal(err)
		}
		wants(u.Monitor, "one:ann", "two:ann")
		if !u.Accounts[0].Since.Equal(began) {
			t.Errorf("by another name the account begins %s, want %s, when it was added", u.Accounts[0].Since, began)
		}
		names = []string{"ann"}
		if u, err = e.Monitors().Update(t.Context(), "", m.ID, monitor.UpdateRequest{Usernames: &names}); err != nil {
			t.Fatal(err)
		}
		if s, err := e.Monitors().Suspend(t.Context(), "", m.ID, monitor.ReasonCredits); err != nil || !s.Accounts[0].Since.After(began) {
			t.Errorf("suspended, the account counts from %v (%v), want from where it was read to", s.Accounts, err)
		}
		if _, err := e.Monitors().Restore(t.Context(), "", m.ID, monitor.ReasonCredits); err != nil {
			t.Fatal(err)
		}
		one.SetSuspended("ann", true)
		pass(time.Hour)
		name := "other"
		if _, err := e.Monitors().Update(t.Context(), "", m.ID, monitor.UpdateRequest{Name: &name}); err != nil {
			t.Fatal(err)
		}
		pass(time.Minute)
		if got, err := e.Monitors().Get(t.Context(), "", m.ID); err != nil || !strings.Contains(got.StatusReason, "@one:ann") {
			t.Errorf("reason %q, %v, want that of the account after a change of the name, too", got.StatusReason, err)
		}
		if err := e.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
