package sqlite_test

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/storage/sqlite"
)

const lease = time.Minute

func at(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }

func claim(t testing.TB, s *sqlite.Store, now time.Time, limit int, skip ...string) []deliver.Delivery {
	t.Helper()
	ds, err := s.Ports().Outbox.Claim(t.Context(), deliver.ClaimRequest{Now: now, Lease: lease, Limit: limit, Skip: skip})
	must(t, err)
	return ds
}

func tweetIDs(ds []deliver.Delivery) string {
	var ids []string
	for _, d := range ds {
		ids = append(ids, d.Event.TweetID)
	}
	return strings.Join(ids, " ")
}

// limitChild makes TestClaimTakesAnyLimit run itself as a process that may die.
const limitChild = "STREAMWATCH_TEST_SQLITE_LIMIT"

func TestClaimTakesAnyLimit(t *testing.T) {
	if os.Getenv(limitChild) != "" {
		ds, err := furnished(t).Ports().Outbox.Claim(t.Context(), deliver.ClaimRequest{Now: start, Lease: time.Hour, Limit: math.MaxInt})
		must(t, err)
		want(t, "claimed", len(ds), 1)
		return
	}
	child := exec.Command(os.Args[0], "-test.run=^TestClaimTakesAnyLimit$")
	child.Env = append(os.Environ(), limitChild+"=1")
	if out, err := child.CombinedOutput(); err != nil {
		t.Errorf("the process ended with %v: %.60s", err, out)
	}
}

// However many deliveries wait for an endpoint in Skip, Claim finds those of the
// others, in order.
func TestClaimBeyondALongLane(t *testing.T) {
	const waiting = 2500
	s, _ := open(t, sqlite.Options{})
	var evs []deliver.Event
	for i := range waiting {
		evs = append(evs, handled(acme, fmt.Sprint("long ", i), "a"))
	}
	commitAt(t, s, at(0), evs...)
	commitAt(t, s, at(2), handled(acme, "second", "b"))
	commitAt(t, s, at(1), handled(acme, "first", "c"))
	commitAt(t, s, at(9), handled(acme, "not due", "b"))
	skip := deliver.HandlerEndpoint("a")
	want(t, "one", tweetIDs(claim(t, s, at(5), 1, skip)), "first")
	want(t, "the rest", tweetIDs(claim(t, s, at(5), 10, skip)), "second")
	want(t, "the long lane", len(claim(t, s, at(5), 2*waiting)), waiting)
}
