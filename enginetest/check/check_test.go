package check_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/enginetest/check"
)

func TestCheck(t *testing.T) {
	since := time.Date(2026, 3, 1, 12, 0, 0, 500e6, time.UTC)
	// shown is a post of nasa, published so long after the watch began.
	shown := func(id string, after time.Duration) enginetest.Truth {
		return enginetest.Truth{Account: "nasa", ID: id, PublishedAt: since.Add(after), VisibleAt: since.Add(after)}
	}
	deleted := shown("1", 0)
	deleted.DeletedAt = since.Add(time.Minute)
	// got is one accepted delivery; what differs is set by the row.
	got := func(id, monitor, post string) enginetest.Received {
		return enginetest.Received{ID: id, WebhookID: "wh_1", MonitorID: monitor, TweetID: post, Attempts: 1, Accepted: 1, Verified: true}
	}
	with := func(d enginetest.Received, change func(*enginetest.Received)) enginetest.Received {
		change(&d)
		return d
	}
	watch := func(monitor string, accounts ...string) check.Watch {
		return check.Watch{MonitorID: monitor, Accounts: accounts, Since: since}
	}
	m1 := []check.Watch{watch("m1", "@NASA")}
	posts := func(m string, ids ...string) check.Posts { return check.Posts{m: ids} }

	for _, tc := range []struct {
		name    string
		truth   []enginetest.Truth
		watches []check.Watch
		got     []enginetest.Received
		want    check.Report
		err     string
	}{
		{"nothing happened", nil, nil, nil, check.Report{}, ""},
		{"all is well",
			[]enginetest.Truth{shown("1", 0), shown("2", time.Second)}, m1,
			[]enginetest.Received{got("d2", "m1", "2"), got("d1", "m1", "1")},
			check.Report{Posted: 2, Detected: 2, Delivered: 2, Verified: 2}, ""},
		{"nobody watches the account",
			[]enginetest.Truth{shown("1", 0)}, []check.Watch{watch("m1", "esa")}, nil,
			check.Report{}, ""},
		{"a post never came",
			[]enginetest.Truth{shown("1", 0), shown("2", 0)}, m1, []enginetest.Received{got("d1", "m1", "1")},
			check.Report{Posted: 2, Detected: 1, Delivered: 1, Verified: 1, Lost: posts("m1", "2")},
			"enginetest: of 2 posts 1 lost (m1/2)"},
		{"a post came and was never accepted",
			[]enginetest.Truth{shown("1", 0)}, m1,
			[]enginetest.Received{with(got("d1", "m1", "1"), func(d *enginetest.Received) { d.Accepted = 0 })},
			check.Report{Posted: 1, Detected: 1, Lost: posts("m1", "1")}, "1 lost (m1/1)"},
		{"a signature was wrong",
			[]enginetest.Truth{shown("1", 0)}, m1,
			[]enginetest.Received{with(got("d1", "m1", "1"), func(d *enginetest.Received) { d.Verified = false })},
			check.Report{Posted: 1, Detected: 1, Delivered: 1}, ""},
		{"repeated attempts are no duplicates",
			[]enginetest.Truth{shown("1", 0)}, m1,
			[]enginetest.Received{with(got("d1", "m1", "1"), func(d *enginetest.Received) { d.Attempts, d.Accepted = 3, 2 })},
			check.Report{Posted: 1, Detected: 1, Delivered: 1, Verified: 1}, ""},
		{"two delivery ids are",
			[]enginetest.Truth{shown("1", 0)}, m1, []enginetest.Received{got("d1", "m1", "1"), got("d2", "m1", "1"), got("d3", "m1", "1")},
			check.Report{Posted: 1, Detected: 1, Delivered: 1, Verified: 1, Duplicated: posts("m1", "1")}, "1 duplicated (m1/1)"},
		{"unless one was never accepted",
			[]enginetest.Truth{shown("1", 0)}, m1,
			[]enginetest.Received{with(got("d1", "m1", "1"), func(d *enginetest.Received) { d.Accepted = 0 }), got("d2", "m1", "1")},
			check.Report{Posted: 1, Detected: 1, Delivered: 1, Verified: 1}, ""},
		{"bytes changed",
			[]enginetest.Truth{shown("1", 0)}, m1,
			[]enginetest.Received{with(got("d1", "m1", "1"), func(d *enginetest.Received) { d.BodyChanged = true })},
			check.Report{Posted: 1, Detected: 1, Delivered: 1, Verified: 1, Changed: posts("m1", "1")}, "1 changed (m1/1)"},
		{"two monitors each get the post",
			[]enginetest.Truth{shown("1", 0)}, []check.Watch{watch("m1", "nasa"), watch("m2", "nasa")},
			[]enginetest.Received{got("d1", "m1", "1"), got("d2", "m2", "1")},
			check.Report{Posted: 2, Detected: 2, Delivered: 2, Verified: 2}, ""},
		{"one monitor does not stand for the other",
			[]enginetest.Truth{shown("1", 0)}, []check.Watch{watch("m1", "nasa"), watch("m2", "nasa")},
			[]enginetest.Received{got("d1", "m1", "1")},
			check.Report{Posted: 2, Detected: 1, Delivered: 1, Verified: 1, Lost: posts("m2", "1")}, "1 lost (m2/1)"},
		{"two webhooks of one monitor each get the post",
			[]enginetest.Truth{shown("1", 0)}, m1,
			[]enginetest.Received{got("d1", "m1", "1"), with(got("d2", "m1", "1"), func(d *enginetest.Received) { d.WebhookID = "wh_2" })},
			check.Report{Posted: 1, Detected: 1, Delivered: 1, Verified: 1}, ""},
		{"one of them missed it",
			[]enginetest.Truth{shown("1", 0), shown("2", 0)}, m1,
			[]enginetest.Received{got("d1", "m1", "1"), with(got("d2", "m1", "1"), func(d *enginetest.Received) { d.WebhookID = "wh_2" }), got("d3", "m1", "2")},
			check.Report{Posted: 2, Detected: 2, Delivered: 1, Verified: 1, Lost: posts("m1", "2")}, "1 lost (m1/2)"},
		{"a post from before is not owed",
			[]enginetest.Truth{shown("1", -time.Second)}, m1, nil, check.Report{}, ""},
		{"nor may it come",
			[]enginetest.Truth{shown("1", -time.Second)}, m1, []enginetest.Received{got("d1", "m1", "1")},
			check.Report{Unexpected: posts("m1", "1")}, "1 unexpected (m1/1)"},
		{"but within the second it may",
			[]enginetest.Truth{shown("1", -time.Millisecond), shown("2", -time.Millisecond)}, m1, []enginetest.Received{got("d1", "m1", "1")},
			check.Report{}, ""},
		{"a deleted post may come or not",
			[]enginetest.Truth{deleted}, []check.Watch{watch("m1", "nasa"), watch("m2", "nasa")}, []enginetest.Received{got("d1", "m1", "1")},
			check.Report{}, ""},
		{"a post that nobody posted",
			nil, m1, []enginetest.Received{got("d1", "m1", "9")},
			check.Report{Unexpected: posts("m1", "9")}, "1 unexpected (m1/9)"},
		{"a post for a monitor that does not watch the account",
			[]enginetest.Truth{shown("1", 0)}, []check.Watch{watch("m1", "esa")}, []enginetest.Received{got("d1", "m1", "1")},
			check.Report{Unexpected: posts("m1", "1")}, "1 unexpected (m1/1)"},
		{"an account that joined a monitor later",
			[]enginetest.Truth{shown("1", 0), shown("2", time.Hour)},
			[]check.Watch{watch("m1", "esa"), {MonitorID: "m1", Accounts: []string{"nasa"}, Since: since.Add(time.Hour)}},
			[]enginetest.Received{got("d2", "m1", "2")},
			check.Report{Posted: 1, Detected: 1, Delivered: 1, Verified: 1}, ""},
		{"an account that two watches of one monitor name",
			[]enginetest.Truth{shown("1", 0)}, []check.Watch{watch("m1", "nasa"), watch("m1", "nasa")},
			[]enginetest.Received{got("d1", "m1", "1")},
			check.Report{Posted: 1, Detected: 1, Delivered: 1, Verified: 1}, ""},
		{"deliveries of rules are left out",
			nil, nil, []enginetest.Received{{ID: "d1", RuleID: "r1", TweetID: "1", Accepted: 1}},
			check.Report{}, ""},
		{"a body that is no event is no rule's",
			nil, m1, []enginetest.Received{
				{ID: "d1", WebhookID: "wh_1", Attempts: 1, Malformed: "not JSON"},
				{ID: "d2", WebhookID: "wh_1", Attempts: 1, Accepted: 1, Verified: true, Malformed: "tweet_id is missing"},
			},
			check.Report{Malformed: []string{"d1", "d2"}}, "enginetest: of 0 posts 2 malformed (d1, d2)"},
		{"many posts are not all named",
			[]enginetest.Truth{shown("1", 0), shown("2", 0), shown("3", 0), shown("4", 0), shown("5", 0), shown("6", 0)}, m1, nil,
			check.Report{Posted: 6, Lost: posts("m1", "1", "2", "3", "4", "5", "6")}, "6 lost (m1/1, m1/2, m1/3, m1/4, m1/5, …)"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			report := check.Check(tc.truth, tc.watches, tc.got)
			if got, want := fmt.Sprintf("%+v", report), fmt.Sprintf("%+v", tc.want); got != want {
				t.Errorf("report %s\n  want %s", got, want)
			}
			err := report.Err()
			if (err == nil) != (tc.err == "") || (err != nil && !strings.Contains(err.Error(), tc.err)) {
				t.Errorf("error %v, want %q", err, tc.err)
			}
		})
	}
}
