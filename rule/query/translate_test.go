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
		effects  string // those of the losses
	}{
		{u, r, "#a min_faves:5 -filter:replies", "#a min_likes:5 -is:reply", ""},
		{u, w, "#a min_likes:5 is:reply", "#a min_faves:5 filter:replies include:nativeretweets", ""},
		{u, w, "#a -is:retweet", "#a -filter:nativeretweets", ""},
		{w, r, "#a", "#a -is:retweet", ""},
		{w, s, "#a OR #b", "(#a OR #b) -is:retweet", ""},
		{w, r, "#a include:nativeretweets", "#a", ""},
		{w, r, "#a filter:nativeretweets", "#a is:retweet", ""},
		{w, r, "#a filter:images exclude:quote", "#a has:images -is:quote -is:retweet", ""},
		{w, r, "#a quoted_tweet_id:7", "#a quotes_of_tweet_id:7 -is:retweet", ""},
		{u, s, "#a has:videos", "#a has:video_link", ""},
		{s, w, "cat", `"cat" include:nativeretweets`, "more"},
		{w, s, "cat", "cat -is:retweet", "less less"},
		{u, s, "café", "café", "less"},
		{s, r, "café", "café", "more"},
		{s, r, `"a b"~3 x`, "a b x", "more"},
		{s, r, `x -"a b"~3`, "x", "more"},
		{w, s, `"this * time" x`, "this time x -is:retweet", "more less less"},
		{u, s, "x since:2022-01-01", "x", "more"},
		{u, s, "x -since:2022-01-01", "x", "more"},
		{u, s, "x OR (y filter:news)", "x OR y", "more"},
		{u, r, "x OR contains:abc", "x OR abc", "other"},
		{u, r, "x OR url_contains:ab.c", `x OR url:"ab.c"`, "other"},
		{u, r, "x OR bio:nasa", "x", "less"},
		{u, r, "bio:nasa", "", "more"},
		{u, r, "#x -(#a #b)", "#x", "more"},
		{u, r, "#a OR has:media", "", "less"},
		{u, w, "#a point_radius:[2.35 48.86 16km]", "#a geocode:48.86,2.35,16km include:nativeretweets", ""},
		{w, s, "#a geocode:48.86,2.35,16km", "#a point_radius:[2.35 48.86 16km] -is:retweet", ""},
		{w, s, "#a geocode:48.86,2.35,160km", "#a -is:retweet", "more"},
		{u, r, "from:nasa.bsky.social OR #a", "#a", "less"},
		{s, r, "#a context:47.*", "#a", "more"},
		{u, w, `source:"X for iPhone" #a`, "source:X_for_iPhone #a include:nativeretweets", ""},
		{u, s, "#a lang:en lang:en", "#a lang:en lang:en", ""},
		{s, w, "#a -is:nullcast", "#a include:nativeretweets", ""},
		{u, s, "@42 -@43", "@42 -@43", "less more"},
		{s, u, "@42", "@42", "more"},
		{w, s, "a -cats", "a -cats -is:retweet", "less more other"},
		{s, r, "#a -café", "#a -café", "less"},
		{u, w, "#a -cat", `#a -"cat" include:nativeretweets`, "less"},
		{u, r, "#b (#a OR (bio:x list:owner/slug))", "#b #a", "less less"},
		{u, r, "#a -(retweets_of_tweet_id:7 bio_name:x)", "#a", "more"},
		{w, s, "#a source:Twitter_for_iOS", `#a source:"Twitter for iOS" -is:retweet`, ""},
	} {
		p := parse(t, row.query, row.from)
		text, report := p.Translate(row.to)
		var effects []string
		for _, l := range report.Losses {
			effects = append(effects, l.Effect)
			if l.Clause == "" || l.Why == "" || l.End > len(row.query) || l.Start >= l.End {
				t.Errorf("%s: incomplete loss %+v", row.query, l)
			}
		}
		if text != row.want || strings.Join(effects, " ") != row.effects {
			t.Errorf("%s %s to %s:\n got %q, finds %q\nwant %q, finds %q\n%v", row.from, row.query, row.to, text, effects, row.want, row.effects, report.Losses)
		}
		if report.Exact() != (row.effects == "") {
			t.Errorf("%s: Exact %v", row.query, report.Exact())
		}
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
