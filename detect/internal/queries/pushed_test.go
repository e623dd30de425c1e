package queries_test

import (
	"errors"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/detect/internal/poll"
	"github.com/streamwatch/streamwatch/detect/internal/queries"
	"github.com/streamwatch/streamwatch/fetcher"
)

// newPushedKit is newKit with a stream, and the query moon, which has been polled and is
// polled again in the next minute. Commits are slow from now on.
func newPushedKit(t *testing.T) *kit {
	k := newKit(t).at(0)
	k.env.On.Pushed = func(poll.Kind, []uint64) {}
	k.Pushed = queries.NewPushed(k.Targets, nil, time.Hour)
	k.follow("a", "moon", time.Minute)
	k.end(k.begin())
	k.slow = true
	return k
}

// searchStarts reports whether a search may begin now.
func (k *kit) searchStarts() bool {
	turn, at := k.Turn(queries.Never, int64(k.now), false)
	if !turn && at <= int64(k.now) {
		k.t.Errorf("no search at %d, and the next is due at %d", int64(k.now), at)
	}
	return turn
}

// No search begins while a pushed post of the query waits for its commit, and one that is
// due begins soon after.
func TestSearchWaitsForAPushedPost(t *testing.T) {
	k := newPushedKit(t)
	k.at(k.next()).push("moon", "1")
	if k.searchStarts() {
		t.Error("a search begins while the commit of a pushed post is open")
	}
	k.settle(nil)
	if k.at(k.now + time.Duration(poll.BusyPause)); !k.searchStarts() {
		t.Errorf("no search after the commit, the next is due at %s", k.next())
	}
	k.end(k.begin(), fetcher.Tweet{ID: "2", Text: "moon", PublishedAt: epoch.Add(k.now)})
	k.settle(nil)
	if k.Polls.Open() != 0 {
		t.Errorf("%d polls are open, want none", k.Polls.Open())
	}
}

// A query whose last rule leaves when its search has the next turn is gone for good.
func TestQueryLeavesInItsTurn(t *testing.T) {
	k := newPushedKit(t)
	k.at(k.next()).push("moon", "1")
	if k.searchStarts() {
		t.Error("a search begins while the commit of a pushed post is open")
	}
	k.settle(nil)
	k.Set("a", nil, queries.Start{})
	k.Polls.GoOn()
	if n := k.env.Count.Kinds[poll.Queries].Targets.Load(); n != 0 || k.Polls.Open() != 0 {
		t.Errorf("%d queries, %d polls are open: want none", n, k.Polls.Open())
	}
}

// A rule that joins during the commit of a pushed post has its query polled when the posts
// that came meanwhile are committed, too. The query then goes with its last rules.
func TestRuleThatJoinsDuringAPush(t *testing.T) {
	k := newPushedKit(t)
	k.at(time.Second).push("moon", "1")
	k.follow("b", "moon", time.Minute)
	k.push("moon", "2")
	k.settle(nil)
	if k.searchStarts() {
		t.Error("a search begins while the commit of the second post is open")
	}
	k.settle(nil)
	if !k.searchStarts() {
		t.Error("no search for the rule that has joined")
	}
	p := k.begin()
	k.Set("a", nil, queries.Start{})
	k.Set("b", nil, queries.Start{})
	if n := k.env.Count.Kinds[poll.Queries].Targets.Load(); n != 1 {
		t.Errorf("%d queries while it is polled, want it still there", n)
	}
	k.end(p, fetcher.Tweet{ID: "3", Text: "moon", PublishedAt: epoch})
	if n := k.env.Count.Kinds[poll.Queries].Targets.Load(); n != 0 || k.Polls.Open() != 0 {
		t.Errorf("%d queries, %d polls, want none", n, k.Polls.Open())
	}
}

// A pushed post that cannot be committed has its query searched at once, though not while
// the query rests because its polls fail.
func TestFailedCommitOfAPush(t *testing.T) {
	down := errors.New("journal down")
	k := newPushedKit(t)
	k.at(time.Second).push("moon", "1")
	k.settle(down)
	if !k.searchStarts() {
		t.Error("no search for the post that was not committed")
	}
	k.end(k.begin(), fetcher.Tweet{ID: "1", Text: "moon", PublishedAt: epoch.Add(k.now)})
	k.settle(down)
	rests := k.next()
	if rests <= k.now {
		t.Fatalf("the next search is due at %s, want a pause after a failed commit", rests)
	}
	k.push("moon", "2")
	k.settle(down)
	if k.searchStarts() || k.next() != rests {
		t.Errorf("the next search is due at %s, want %s as before the second post", k.next(), rests)
	}
}

// A rule's new interval or schedule holds at once while a pushed post is committed, too: the
// query is due neither when it was before nor, since no rule has joined, after the commit.
func TestTermsThatChangeDuringAPush(t *testing.T) {
	for name, change := range map[string]func(k *kit){
		"interval": func(k *kit) { k.follow("a", "moon", 10*time.Second) },
		"schedule": func(k *kit) {
			k.schedule(func(at time.Time) time.Time { return at.Add(10 * time.Second) }, time.Second)
		},
	} {
		k := newPushedKit(t)
		k.follow("a", "moon", time.Hour)
		k.at(time.Second).push("moon", "1")
		change(k)
		k.push("moon", "2")
		k.settle(nil)
		k.settle(nil)
		if at := k.next(); at <= k.now || at > k.now+10*time.Second {
			t.Errorf("%s: the next search is due at %s, want in the 10 s from %s on", name, at, k.now)
		}
	}
}

// A query whose schedule never comes is not planned. An interval that its rule is given during
// the commit of a pushed post holds from the end of the commit on.
func TestIntervalAfterAScheduleThatNeverComes(t *testing.T) {
	k := newPushedKit(t)
	k.schedule(func(time.Time) time.Time { return time.Time{} }, time.Hour)
	if at := k.next(); at != -1 {
		t.Fatalf("a search is due at %s, want none by a schedule that never comes", at)
	}
	k.at(time.Second).push("moon", "1")
	k.follow("a", "moon", 10*time.Second)
	k.settle(nil)
	if at := k.next(); at <= k.now || at > k.now+10*time.Second {
		t.Errorf("the next search is due at %s, want in the 10 s from %s on", at, k.now)
	}
}
