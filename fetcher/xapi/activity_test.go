package xapi_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/xapi"
	"github.com/streamwatch/streamwatch/fetcher/xapi/xapitest"
)

// names gives those of the accounts of a signal.
func names(g fetcher.Signal) string {
	var all []string
	for _, a := range g.Accounts {
		all = append(all, a.Username)
	}
	return strings.Join(all, " ")
}

// subscribed gives the subscriptions with a tag, as "event handle", sorted.
func (f *fake) subscribed(tag string, accounts []fetcher.Account) (all []string) {
	for _, sub := range f.Streams.Subscriptions() {
		if sub.Tag == tag {
			i := slices.IndexFunc(accounts, func(a fetcher.Account) bool { return a.UserID == sub.UserID })
			all = append(all, sub.EventType+" "+accounts[i].Username)
		}
	}
	slices.Sort(all)
	return all
}

// The subscriptions of the program's tag, and no others, follow the accounts.
func TestActivityKeepsItsSubscriptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, xapitest.Config{})
		all := f.add("ann", "bob", "cyd", "dan")
		for _, a := range all {
			f.Streams.Subscribe("post.create", a.UserID+"0", "another")
			f.Streams.Subscribe("profile.update.bio", a.UserID, "streamwatch")
		}
		f.Streams.Subscribe("post.create", all[3].UserID, "streamwatch") // of a run before
		f.Streams.Subscribe("post.delete", all[0].UserID, "streamwatch")
		foreign := func() (n int) {
			for _, sub := range f.Streams.Subscriptions() {
				if sub.Tag == "another" || sub.EventType == "profile.update.bio" {
					n++
				}
			}
			return n
		}
		changes := make(chan []fetcher.Account, 1)
		l := listen(t, f.activity(t, xapi.ActivityConfig{}), fetcher.StreamQuery{Accounts: append(slices.Clone(all[:2]), all[0], fetcher.Account{Username: "nobody"}), Changes: changes})
		if up := l.next(); up.Kind != fetcher.SignalUp || up.Resumed || names(up) != "ann bob" {
			t.Errorf("first signal %+v, want SignalUp of ann and bob", up)
		}
		want := func(when, tag string, list ...string) {
			t.Helper()
			var got []string
			for _, sub := range f.subscribed(tag, all) {
				if strings.HasPrefix(sub, "post.") {
					got = append(got, sub)
				}
			}
			if !slices.Equal(got, list) {
				t.Errorf("%s: subscriptions %q, want %q", when, got, list)
			}
		}
		want("at first", "streamwatch", "post.create ann", "post.create bob", "post.delete ann", "post.delete bob")
		changes <- all[1:3]
		if g := l.next(); g.Kind != fetcher.SignalAccounts || names(g) != "bob cyd" {
			t.Errorf("after a change %+v, want SignalAccounts of bob and cyd", g)
		}
		want("after a change", "streamwatch", "post.create bob", "post.create cyd", "post.delete bob", "post.delete cyd")
		changes <- nil
		if g := l.next(); g.Kind != fetcher.SignalAccounts || names(g) != "" {
			t.Errorf("without accounts %+v, want SignalAccounts of none", g)
		}
		want("without accounts", "streamwatch")
		if n := foreign(); n != 8 {
			t.Errorf("%d subscriptions of others are left, want 8", n)
		}
		l.stop()
	})
}

// Subscriptions that are lost are made again within an hour.
func TestActivityFindsLostSubscriptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, xapitest.Config{})
		all := f.add("ann")
		f.Streams.Subscribe("post.delete", all[0].UserID, "streamwatch") // of a run without it
		l := listen(t, f.activity(t, xapi.ActivityConfig{PostsOnly: true}), fetcher.StreamQuery{Accounts: all})
		l.next()
		if got := f.subscribed("streamwatch", all); !slices.Equal(got, []string{"post.create ann"}) {
			t.Errorf("with PostsOnly %q, want the posts alone", got)
		}
		f.Streams.Unsubscribe(f.Streams.Subscriptions()[0].ID)
		<-time.After(61 * time.Minute)
		if got := f.subscribed("streamwatch", all); len(got) != 1 {
			t.Errorf("after an hour %q, want the posts again", got)
		}
		l.stop()
	})
}

// Where X lets no more subscriptions be made for now, the stream runs, and the others
// follow.
func TestActivityWaitsForTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, xapitest.Config{})
		var list []string
		for i := range 700 {
			list = append(list, fmt.Sprint("a", i))
		}
		all := f.add(list...)
		changes := make(chan []fetcher.Account, 1)
		l := listen(t, f.activity(t, xapi.ActivityConfig{}), fetcher.StreamQuery{Accounts: all, Changes: changes})
		if up := l.next(); up.Kind != fetcher.SignalUp || len(up.Accounts) != 500 {
			t.Errorf("%d accounts at first, want the 500 that X takes in 15 minutes", len(up.Accounts))
		}
		began := time.Now()
		f.Post("a3", "while waiting")
		if g := l.next(); g.Kind != fetcher.SignalPost {
			t.Errorf("%+v, want the post", g)
		}
		changes <- all[1:]
		if g := l.next(); g.Kind != fetcher.SignalAccounts || len(g.Accounts) != 499 || time.Since(began) > time.Second {
			t.Errorf("%d accounts %s after one has left, want 499 at once", len(g.Accounts), time.Since(began))
		}
		<-time.After(15 * time.Minute)
		if g := l.next(); g.Kind != fetcher.SignalAccounts || len(g.Accounts) != 699 {
			t.Errorf("%d accounts after 15 minutes, want all", len(g.Accounts))
		}
		<-time.After(31 * time.Minute)
		if n := len(f.Streams.Subscriptions()); n != 2*699 {
			t.Errorf("%d subscriptions in the end, want %d", n, 2*699)
		}
		l.stop()
	})
}

// Posts go before deletions; accounts beyond the bound are left to polls, and take the
// room that becomes free.
func TestActivityMaxSubscriptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, xapitest.Config{})
		all := f.add("ann", "bob", "cyd", "dan")
		f.Streams.Subscribe("post.create", "5", "another")
		changes := make(chan []fetcher.Account, 1)
		log, lines := newLog()
		l := listen(t, f.activity(t, xapi.ActivityConfig{MaxSubscriptions: 4, Logger: log}), fetcher.StreamQuery{Accounts: all, Changes: changes})
		if up := l.next(); names(up) != "ann bob cyd" {
			t.Errorf("at first %s, want three: there is room for that many", names(up))
		}
		changes <- all[1:]
		if g := l.next(); names(g) != "bob cyd dan" {
			t.Errorf("without ann %s, want the others", names(g))
		}
		l.stop()
		if got := f.subscribed("streamwatch", all); !slices.Equal(got, []string{"post.create bob", "post.create cyd", "post.create dan"}) {
			t.Errorf("subscriptions %q", got)
		}
		if len(*lines) != 1 {
			t.Errorf("the log has %q, want one line that there is no room", *lines)
		}
	})
}

// What X says no to does not keep the others from being subscribed to, and is tried again
// within an hour.
func TestActivityRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, xapitest.Config{})
		all := f.add("ann", "bob", "cyd")
		f.Streams.Subscribe("post.create", all[2].UserID, "another") // X takes no second one
		refuses := func(r *http.Request) (int, string) {
			if r.Method == http.MethodPost {
				b, _ := io.ReadAll(r.Body)
				r.Body = io.NopCloser(strings.NewReader(string(b)))
				if strings.Contains(string(b), all[0].UserID) {
					return 403, `{"title":"Forbidden","detail":"not this one","type":"https://api.x.com/2/problems/not-authorized-for-resource"}`
				}
			}
			return 0, ""
		}
		f.answers(refuses)
		log, lines := newLog()
		l := listen(t, f.activity(t, xapi.ActivityConfig{PostsOnly: true, Logger: log}), fetcher.StreamQuery{Accounts: all})
		if up := l.next(); names(up) != "bob" {
			t.Errorf("up with %s, want bob", names(up))
		}
		if len(*lines) != 2 || !strings.Contains((*lines)[0], "not this one") || !strings.Contains((*lines)[1], "Duplicate") {
			t.Errorf("the log has %q, want why ann and cyd are not subscribed to", *lines)
		}
		f.answers(nil)
		<-time.After(61 * time.Minute)
		if g := l.next(); names(g) != "ann bob" {
			t.Errorf("after an hour %s, want ann and bob", names(g))
		}
		if got := f.subscribed("another", all); !slices.Equal(got, []string{"post.create cyd"}) {
			t.Errorf("of the other program there is %q left", got)
		}
		l.stop()
	})
}

// A subscription whose answer was lost is not made twice.
func TestActivityLostAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, xapitest.Config{})
		all := f.add("ann", "bob")
		f.answers(func(r *http.Request) (int, string) {
			if r.Method == http.MethodPost && f.count("POST /2/activity/subscriptions") == 1 {
				f.Streams.Subscribe("post.create", all[0].UserID, "streamwatch")
				return 502, "<html>"
			}
			return 0, ""
		})
		l := listen(t, f.activity(t, xapi.ActivityConfig{PostsOnly: true}), fetcher.StreamQuery{Accounts: all})
		if up := l.next(); names(up) != "" {
			t.Errorf("up with %s, want nobody", names(up))
		}
		if err := l.over(); !errors.Is(err, fetcher.ErrResubscribe) {
			t.Errorf("%v once there are subscriptions, want ErrResubscribe", err)
		}
		if got := f.subscribed("streamwatch", all); !slices.Equal(got, []string{"post.create ann", "post.create bob"}) || f.count("POST /2/activity/subscriptions") != 2 {
			t.Errorf("subscriptions %q after %d calls, want one of each after 2", got, f.count("POST /2/activity/subscriptions"))
		}
	})
}

// Without an account whose id is known there is no connection, and no failure.
func TestActivityWithoutAccounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, xapitest.Config{})
		changes := make(chan []fetcher.Account, 1)
		l := listen(t, f.activity(t, xapi.ActivityConfig{}), fetcher.StreamQuery{Accounts: []fetcher.Account{{Username: "ann"}}, Changes: changes})
		if up := <-l.signals; up.Kind != fetcher.SignalUp || len(up.Accounts) != 0 {
			t.Errorf("%+v, want SignalUp of none", up)
		}
		for range 3 {
			if g := <-l.signals; g.Kind != fetcher.SignalHeartbeat {
				t.Errorf("%+v, want heartbeats", g)
			}
		}
		changes <- f.add("ann")
		if err := l.over(); !errors.Is(err, fetcher.ErrResubscribe) {
			t.Errorf("%v once there is an account, want ErrResubscribe", err)
		}
		if n := f.count("GET /2/activity/stream"); n != 0 {
			t.Errorf("%d connections without an account", n)
		}
	})
}
