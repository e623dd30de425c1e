package bluesky

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// repo is an account's records on a PDS, each collection newest key first.
type repo struct {
	records map[string][]string // collection → keys
	opaque  bool                // cursors are not keys
	greedy  bool                // a short answer still has a cursor, as the reference server's
}

func (r *repo) add(collection, key string) {
	keys := append(r.records[collection], key)
	slices.SortFunc(keys, func(a, b string) int { return cmp.Compare(b, a) })
	r.records[collection] = keys
}

func (r *repo) listRecords(q url.Values) (int, string) {
	keys := r.records[q.Get("collection")]
	limit, _ := strconv.Atoi(q.Get("limit"))
	if after := q.Get("cursor"); after != "" {
		if r.opaque {
			after = after[len("after-"):]
		}
		keys = slices.DeleteFunc(slices.Clone(keys), func(k string) bool { return k >= after })
	}
	more := len(keys) > limit
	keys = keys[:min(limit, len(keys))]
	records := []any{}
	for _, k := range keys {
		records = append(records, map[string]any{
			"uri":   "at://" + q.Get("repo") + "/" + q.Get("collection") + "/" + k,
			"value": map[string]any{"text": "x", "createdAt": stampOf(postedAt), "subject": map[string]any{"uri": postURI(bob, postedAt)}},
		})
	}
	answer := map[string]any{"records": records}
	if len(keys) > 0 && (more || r.greedy) {
		answer["cursor"] = keys[len(keys)-1]
		if r.opaque {
			answer["cursor"] = "after-" + keys[len(keys)-1]
		}
	}
	b, _ := json.Marshal(answer)
	return 200, string(b)
}

// all returns what a timeline must show, by sorting all records at once.
func (r *repo) all() []string {
	type record struct{ collection, key string }
	var every []record
	for collection, keys := range r.records {
		for _, k := range keys {
			every = append(every, record{collection, k})
		}
	}
	slices.SortFunc(every, func(a, b record) int {
		return cmp.Or(cmp.Compare(b.key, a.key), cmp.Compare(a.collection, b.collection))
	})
	var ids []string
	for _, e := range every {
		ids = append(ids, "at://"+alice+"/"+e.collection+"/"+e.key)
	}
	return ids
}

func TestPagesOfPDSAreOneTimeline(t *testing.T) {
	for seed := range uint64(120) {
		rng := rand.New(rand.NewPCG(seed, 1))
		r := &repo{records: map[string][]string{}, opaque: seed%2 == 1, greedy: seed%4 > 1}
		posts, reposts := rng.IntN(25), rng.IntN(25)
		span := 1 + rng.IntN(60) // minutes; a small one makes equal keys in both
		moment := func() string { return tidAt(postedAt.Add(-time.Duration(rng.IntN(span)) * time.Minute)) }
		for range posts {
			if k := moment(); !slices.Contains(r.records[postCollection], k) {
				r.add(postCollection, k)
			}
		}
		for range reposts {
			if k := moment(); !slices.Contains(r.records[repostCollection], k) {
				r.add(repostCollection, k)
			}
		}
		want := r.all()
		p := serve(t, answers{"com.atproto.repo.listRecords": r.listRecords})
		f := p.open(t, true)
		limit, newer := 1+rng.IntN(8), seed%3 == 0
		var got []string
		q := fetcher.TimelineQuery{Username: alice, Limit: limit}
		for n := 0; ; n++ {
			if n > 2*len(want)+2 {
				t.Fatalf("seed %d: still paging after %d pages", seed, n)
			}
			page, err := f.Timeline(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			for _, tw := range page.Tweets {
				got = append(got, tw.ID)
			}
			if page.Next == "" {
				break
			}
			q.Cursor = page.Next
			if newer { // posts made meanwhile are the next poll's
				at := postedAt.Add(time.Duration(n+1) * time.Second)
				r.add(postCollection, tidAt(at))
				r.add(repostCollection, tidAt(at))
			}
		}
		p.Close()
		if !slices.Equal(got, want) {
			t.Errorf("seed %d: limit %d, opaque %t, greedy %t, newer %t:\n got %v\nwant %v", seed, limit, r.opaque, r.greedy, newer, got, want)
		}
	}
}

func TestMergeKeepsBackWhatCouldBePreceded(t *testing.T) {
	list := func(at position, next string, keys ...string) part {
		p := part{at: at, next: next}
		for _, k := range keys {
			p.records = append(p.records, listedRecord{key: k})
		}
		return p
	}
	start, end := position{}, position{end: true}
	for _, c := range []struct {
		name  string
		parts [2]part
		keys  []string
		next  positions
	}{
		{"both have ended", [2]part{list(start, "", "9", "5"), list(start, "", "7")}, []string{"9", "7", "5"}, positions{end, end}},
		{"what is older than the other's open end waits", [2]part{list(start, "p", "9", "7"), list(start, "r", "8", "6")}, []string{"9", "8", "7"},
			positions{{cursor: "p"}, {below: "7"}}},
		{"also when its own part has ended", [2]part{list(start, "p", "9", "7"), list(start, "", "8", "6")}, []string{"9", "8", "7"},
			positions{{cursor: "p"}, {below: "7"}}},
		{"an ended part holds nothing back", [2]part{list(start, "", "9"), list(start, "r", "8", "6")}, []string{"9", "8", "6"},
			positions{end, {cursor: "r"}}},
		{"what was given is not given again", [2]part{list(position{cursor: "p"}, "", "6", "4"), list(position{below: "7"}, "", "8", "6")}, []string{"6", "6", "4"},
			positions{end, end}},
		{"a part that new records have filled moves on", [2]part{list(position{cursor: "p"}, "", "6", "4"), list(position{below: "7"}, "r", "9", "8")}, nil,
			positions{{cursor: "p", below: "8"}, {cursor: "r"}}},
		{"and what the other gave stays given", [2]part{list(position{below: "5"}, "", "9", "4"), list(position{below: "5"}, "r", "9", "8")}, nil,
			positions{{below: "5"}, {cursor: "r"}}},
		{"nothing at all", [2]part{}, nil, positions{end, end}},
	} {
		t.Run(c.name, func(t *testing.T) {
			listed, next := merge(c.parts)
			var keys []string
			for _, l := range listed {
				keys = append(keys, l.key)
			}
			if !slices.Equal(keys, c.keys) || next != c.next {
				t.Errorf("keys %v, next %+v, want %v and %+v", keys, next, c.keys, c.next)
			}
		})
	}
}

func FuzzCursor(f *testing.F) {
	for _, s := range []string{"", "x", "%zz", "app.bsky.feed.post=a&app.bsky.feed.post=b", "app.bsky.feed.post=a&app.bsky.feed.post=b&app.bsky.feed.repost=c&app.bsky.feed.repost=", "app.bsky.feed.repost=c"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		ps, err := parseCursor(s)
		if err != nil || s == "" {
			return
		}
		again, err := parseCursor(formatCursor(ps))
		if err != nil || again != ps {
			t.Errorf("%q reads as %+v, written and read again as %+v, %v", s, ps, again, err)
		}
	})
}

func TestCursorErrorsNameTheField(t *testing.T) {
	for _, s := range []string{"x", "%zz", "app.bsky.feed.post=a", "app.bsky.feed.post=a&app.bsky.feed.post=b&z=1"} {
		if _, err := parseCursor(s); err == nil || err.Error() != fmt.Sprintf("cursor %q is not allowed: want the Next of an earlier page", s) {
			t.Errorf("%q: error %v", s, err)
		}
	}
}
