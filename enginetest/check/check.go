package check

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/monitor"
)

// Watch describes a monitor: the posts of its accounts must be delivered.
type Watch struct {
	MonitorID string
	Accounts  []string // first handles of the accounts; without @, in any case
	// Since is when the monitor began to watch, such as monitor.Monitor.CreatedAt. Posts
	// published before Since need not be delivered.
	Since time.Time
}

// Posts maps the id of a monitor to ids of posts.
type Posts map[string][]string

// Report compares the posts of the platform with those of the receiver. A post that two monitors
// watch counts twice. If a monitor has several webhooks, consider those that have received anything
// of the monitor: a post counts as delivered if all of them have accepted it.
type Report struct {
	Posted    int // posts that must be delivered
	Detected  int // Posted that reached the receiver
	Delivered int // Posted that the receiver accepted
	Verified  int // Delivered whose accepted deliveries had only valid signatures

	Lost       Posts // must be delivered, and were not
	Duplicated Posts // accepted by one webhook under two delivery ids
	Unexpected Posts // accepted without need: never shown, too old, or not watched
	Changed    Posts // attempts of one delivery id had different bytes

	Malformed []string // ids of deliveries whose body is not an event
}

// Check returns a report of the results of Platform.Posted and Receiver.Deliveries, for the given
// watches. It ignores deliveries of filter rules. Repeated attempts of one delivery id are not
// duplicates. Two kinds of posts may be delivered or not: deleted posts, and posts published before
// a watch began but in the same second.
func Check(truth []enginetest.Truth, watches []Watch, got []enginetest.Received) Report {
	var r Report
	seen := gather(got, &r)
	owed, allowed := make(map[pair]bool), make(map[pair]bool)
	watchers := make(map[string][]*Watch) // by account
	for i := range watches {
		for _, account := range watches[i].Accounts {
			account = monitor.Key(account)
			watchers[account] = append(watchers[account], &watches[i])
		}
	}
	for _, post := range truth {
		for _, w := range watchers[monitor.Key(post.Account)] {
			p := pair{w.MonitorID, post.ID}
			switch {
			case owed[p]: // by an earlier watch of the same monitor
			case post.PublishedAt.Before(w.Since.Truncate(time.Second)):
			case post.PublishedAt.Before(w.Since) || !post.DeletedAt.IsZero():
				allowed[p] = true
			default:
				owed[p] = true
				r.judge(p, seen)
			}
		}
	}
	for i := range got {
		p := pair{got[i].MonitorID, got[i].TweetID}
		if p.monitor != "" && got[i].Accepted > 0 && !owed[p] && !allowed[p] {
			r.Unexpected.add(p.monitor, p.post)
		}
	}
	return r
}

// pair is one post for one monitor.
type pair struct{ monitor, post string }

// received indexes the received deliveries for Check.
type received struct {
	webhooks map[string]map[string]bool // by monitor: its webhooks
	accepted map[pair]map[string]int    // by webhook: delivery ids accepted
	came     map[pair]bool
	unsigned map[pair]bool // an attempt of an accepted delivery was not verified
}

func gather(got []enginetest.Received, r *Report) received {
	in := received{
		webhooks: make(map[string]map[string]bool),
		accepted: make(map[pair]map[string]int),
		came:     make(map[pair]bool),
		unsigned: make(map[pair]bool),
	}
	for i := range got {
		d := &got[i]
		if d.Malformed != "" {
			r.Malformed = append(r.Malformed, d.ID)
		}
		if d.MonitorID == "" {
			continue
		}
		p := pair{d.MonitorID, d.TweetID}
		if in.webhooks[p.monitor] == nil {
			in.webhooks[p.monitor] = make(map[string]bool)
		}
		in.webhooks[p.monitor][d.WebhookID] = true
		in.came[p] = true
		if d.BodyChanged {
			r.Changed.add(p.monitor, p.post)
		}
		if d.Accepted == 0 {
			continue
		}
		if in.accepted[p] == nil {
			in.accepted[p] = make(map[string]int)
		}
		in.accepted[p][d.WebhookID]++
		if in.accepted[p][d.WebhookID] == 2 {
			r.Duplicated.add(p.monitor, p.post)
		}
		in.unsigned[p] = in.unsigned[p] || !d.Verified
	}
	return in
}

// judge counts a post that must be delivered.
func (r *Report) judge(p pair, in received) {
	r.Posted++
	if in.came[p] {
		r.Detected++
	}
	// A webhook is in accepted only if it is in webhooks.
	if n := len(in.accepted[p]); n == 0 || n < len(in.webhooks[p.monitor]) {
		r.Lost.add(p.monitor, p.post)
		return
	}
	r.Delivered++
	if !in.unsigned[p] {
		r.Verified++
	}
}

func (ps *Posts) add(monitor, post string) {
	if *ps == nil {
		*ps = make(Posts)
	}
	(*ps)[monitor] = append((*ps)[monitor], post)
}

// Err returns an error if posts are lost, duplicated, unexpected, changed or malformed. It has their
// numbers and names the first of each kind. Posts that were not verified are no error, since a
// receiver without a secret verifies nothing.
func (r Report) Err() error {
	var wrong []string
	for _, c := range []struct {
		what  string
		posts Posts
	}{
		{"lost", r.Lost},
		{"duplicated", r.Duplicated},
		{"unexpected", r.Unexpected},
		{"changed", r.Changed},
	} {
		if len(c.posts) > 0 {
			wrong = append(wrong, c.posts.describe(c.what))
		}
	}
	if len(r.Malformed) > 0 {
		wrong = append(wrong, describe("malformed", r.Malformed))
	}
	if wrong == nil {
		return nil
	}
	return fmt.Errorf("enginetest: of %d posts %s", r.Posted, strings.Join(wrong, "; "))
}

// named is how many posts or deliveries of each kind an error names.
const named = 5

func (ps Posts) describe(what string) string {
	var names []string
	for _, monitor := range slices.Sorted(maps.Keys(ps)) {
		for _, post := range ps[monitor] {
			names = append(names, monitor+"/"+post)
		}
	}
	return describe(what, names)
}

// describe names the first of many.
func describe(what string, names []string) string {
	n := len(names)
	if n > named {
		names = append(slices.Clone(names[:named]), "…")
	}
	return fmt.Sprintf("%d %s (%s)", n, what, strings.Join(names, ", "))
}
