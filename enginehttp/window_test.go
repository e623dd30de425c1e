package enginehttp_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
)

var longAgo = time.Date(2020, 1, 1, 12, 0, 0, 0, time.UTC)

// withOldLogs adds entries to the logs of a monitor and a rule and to the billing log,
// in the order given, with the times of so many seconds after longAgo.
func withOldLogs(t *testing.T, w *world, seconds ...int) {
	t.Helper()
	rule := w.ids[mine].Replace("{rule}")
	for _, n := range seconds {
		at := longAgo.Add(time.Duration(n) * time.Second)
		addOldLine(t, w, deliver.Source{Kind: deliver.SourceMonitor, ID: "mon_old", Owner: mine, Name: "old"}, fmt.Sprint(n), at)
		addOldLine(t, w, deliver.Source{Kind: deliver.SourceRule, ID: rule, Owner: mine, Name: "moon"}, fmt.Sprint(n), at)
	}
}

func addOldLine(t *testing.T, w *world, src deliver.Source, tweet string, at time.Time) {
	t.Helper()
	ev := deliver.Event{ID: deliver.EventID(src.ID, tweet), Source: src, TweetID: tweet, AuthorUsername: "nasa", DetectedAt: at, Handlers: []string{"default"}, Body: []byte("{}")}
	if err := w.store.Ports().Journal.Commit(t.Context(), []*detect.Batch{{Cursor: &detect.Cursor{Target: src.ID, Since: at}, Events: []deliver.Event{ev}}}); err != nil {
		t.Fatal(err)
	}
	if err := w.store.Ports().Ledger.Append(t.Context(), billing.Entry{ID: src.ID + " " + tweet, Owner: mine, Kind: billing.KindMonitor, SourceID: src.ID, SourceName: tweet, At: at}); err != nil {
		t.Fatal(err)
	}
}

// logPaths are the logs that withOldLogs adds to, oldest first, and the field that has
// the number of seconds.
var logPaths = map[string]string{
	"/stream/logs?sort=asc&monitor_id=mon_old":         "tweet_id",
	"/stream/filter-rules/{rule}/logs?sort=asc":        "tweet_id",
	"/stream/billing-logs?sort=asc&monitor_id=mon_old": "monitor_name",
}

func shown(t *testing.T, a answer, field string) string {
	t.Helper()
	if a.status != 200 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	var got []string
	for _, line := range a.decode(t)["logs"].([]any) {
		got = append(got, fmt.Sprint(line.(map[string]any)[field]))
	}
	return strings.Join(got, " ")
}

// since is inclusive, until exclusive, and the entries need not be in the order of
// their times.
func TestLogsBetweenTwoTimes(t *testing.T) {
	w := newWorld(t)
	withOldLogs(t, w, 1, 3, 2, 5)
	second := func(n float64) string {
		return url.QueryEscape(longAgo.Add(time.Duration(n * float64(time.Second))).Format(time.RFC3339Nano))
	}
	for query, want := range map[string]string{
		"":                              "1 3 2 5",
		"&since=" + second(2):           "3 2 5",
		"&since=" + second(2.000000001): "3 5",
		"&until=" + second(3):           "1 2",
		"&since=" + second(2) + "&until=" + second(5):                      "3 2",
		"&since=" + url.QueryEscape("2020-01-01T14:00:03+02:00"):           "3 5",
		"&since=" + second(2) + "&page=2&page_size=1":                      "2",
		"&since=" + second(6):                                              "",
		"&author_username=nasa&delivery_status=pending&since=" + second(3): "3 5",
	} {
		for path, field := range logPaths {
			if strings.Contains(query, "author") && strings.Contains(path, "billing") {
				continue
			}
			a := w.do(mine, "GET", social+path+query, "")
			if got := shown(t, a, field); got != want {
				t.Errorf("%s%s: %s, want %s", path, query, got, want)
			}
		}
	}
}
