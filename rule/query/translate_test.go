package query_test

import (
	"strings"
	"testing"

	"github.com/streamwatch/streamwatch/rule/query"
)

func TestTranslate(t *testing.T) {
	const u, s, r, w = query.Union, query.V2Stream, query.V2Search, query.Web
	for _, row := range []struct {
		from, to query.Dialect
		query    string
		want     string
		losses   int
	}{
		{u, r, "#a min_faves:5 -filter:replies", "#a min_likes:5 -is:reply", 0},
		{w, r, "#a", "#a -is:retweet", 0},
		{w, s, "#a OR #b", "(#a OR #b) -is:retweet", 0},
		{w, r, "#a include:nativeretweets", "#a", 0},
		{w, r, "#a filter:nativeretweets", "#a is:retweet", 0},
		{w, r, "#a filter:images exclude:quote", "#a has:images -is:quote -is:retweet", 0},
		{w, r, "#a quoted_tweet_id:7", "#a quotes_of_tweet_id:7 -is:retweet", 0},
		{u, s, "#a has:videos", "#a has:video_link", 0},
		{w, s, "cat", "cat -is:retweet", 2},
		{u, s, "café", "café", 1},
		{s, r, "café", "café", 1},
		{s, r, `"a b"~3 x`, "a b x", 1},
		{s, r, `x -"a b"~3`, "x", 1},
		{w, s, `"this * time" x`, "this time x -is:retweet", 3},
		{u, s, "x since:2022-01-01", "x", 1},
		{u, s, "x -since:2022-01-01", "x", 1},
		{u, s, "x OR (y filter:news)", "x OR y", 1},
		{u, r, "x OR contains:abc", "x OR abc", 1},
		{u, r, "x OR url_contains:ab.c", `x OR url:"ab.c"`, 1},
		{u, r, "x OR bio:nasa", "x", 1},
		{u, r, "bio:nasa", "", 1},
		{u, r, "#x -(#a #b)", "#x", 1},
		{u, r, "#a OR has:media", "", 1},
		{w, s, "#a geocode:48.86,2.35,16km", "#a point_radius:[2.35 48.86 16km] -is:retweet", 0},
		{w, s, "#a geocode:48.86,2.35,160km", "#a -is:retweet", 1},
		{u, r, "from:nasa.bsky.social OR #a", "#a", 1},
		{s, r, "#a context:47.*", "#a", 1},
		{u, s, "#a lang:en lang:en", "#a lang:en lang:en", 0},
		{u, s, "@42 -@43", "@42 -@43", 2},
		{w, s, "a -cats", "a -cats -is:retweet", 3},
		{s, r, "#a -café", "#a -café", 1},
		{u, r, "#b (#a OR (bio:x list:owner/slug))", "#b #a", 2},
		{u, r, "#a -(retweets_of_tweet_id:7 bio_name:x)", "#a", 1},
		{w, s, "#a source:Twitter_for_iOS", `#a source:"Twitter for iOS" -is:retweet`, 0},
	} {
		p := parse(t, row.query, row.from)
		text, report := p.Translate(row.to)
		for _, l := range report.Losses {
			if l.Clause == "" || l.Why == "" || l.End > len(row.query) || l.Start >= l.End {
				t.Errorf("%s: incomplete loss %+v", row.query, l)
			}
		}
		if text != row.want || len(report.Losses) != row.losses || report.Exact() != (row.losses == 0) {
			t.Errorf("%s %s to %s:\n got %q\nwant %q, %d losses\n%v", row.from, row.query, row.to, text, row.want, row.losses, report.Losses)
		}
	}
	if text, report := parse(t, "#a", u).Translate(query.Web); text != "" || report.Exact() {
		t.Errorf("to %s: %q, want nothing", query.Web, text)
	}
}

func TestNeedsUpstream(t *testing.T) {
	p := parse(t, `cat -is:verified (list:5 OR from:nasa) min_likes:5 point_radius:[1 2 3km]`, query.Union)
	var got []string
	for _, op := range p.NeedsUpstream() {
		got = append(got, op.Name)
	}
	if want := "is:verified list point_radius"; strings.Join(got, " ") != want {
		t.Errorf("operators %v, want %s", got, want)
	}
	if ops := parse(t, "cat #dog from:nasa", query.Union).NeedsUpstream(); len(ops) != 0 {
		t.Errorf("operators %v, want none", ops)
	}
}
