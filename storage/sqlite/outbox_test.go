package sqlite_test

import (
	"math"
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

func TestClaimTakesAnyLimit(t *testing.T) {
	want(t, "claimed", len(claim(t, furnished(t), start, math.MaxInt)), 1)
}
