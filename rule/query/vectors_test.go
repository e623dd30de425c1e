package query_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/rule/query"
)

// What a query becomes, or the code with which it is refused, in each of the
// dialects that a row names.
func TestQueries(t *testing.T) {
	const (
		u = query.Union
		s = query.V2Stream
		r = query.V2Search
		w = query.Web
	)
	all := []query.Dialect{u, s, r, w}
	v2 := []query.Dialect{s, r}
	for _, row := range []struct {
		dialects []query.Dialect
		query    string
		want     string // the tree, or the first error's code
		warnings string // codes that must be among the warnings
	}{
		{all, `apple OR iphone ipad`, `or(apple, and(iphone, ipad))`, "W_MIXED"},
		{all, `ipad iphone OR android`, `or(and(ipad, iphone), android)`, "W_MIXED"},
		{all, `(apple OR iphone) ipad`, `and(or(apple, iphone), ipad)`, ""},
		{all, `cat #meme -grumpy`, `and(cat, #meme, not grumpy)`, ""},
		{[]query.Dialect{u, w}, `skiing -(snow OR day OR noschool)`, `and(skiing, not snow, not day, not noschool)`, "W_NEG_GROUP"},
		{v2, `skiing -(snow OR day OR noschool)`, "E_NEG_GROUP", ""},
		{[]query.Dialect{u, s, r}, `has:media`, "E_NO_STANDALONE", ""},
		{[]query.Dialect{u, s, r}, `has:links OR is:retweet`, "E_NO_STANDALONE", ""},
		{all, `lang:en`, "E_NO_STANDALONE", ""},
		{[]query.Dialect{u, s, r}, `"X data" has:mentions (has:media OR has:links)`, `and("X data", has:mentions, or(has:media, has:links))`, ""},
		{[]query.Dialect{u, s, r}, `-is:retweet`, "E_ONLY_NEGATED", ""},
		{all, `apple OR -ipad`, "E_NEG_BRANCH", ""},
		{v2, `#tag OR has:media`, "E_BRANCH_NOT_STANDALONE", ""},
		{[]query.Dialect{u}, `#tag OR has:media`, `or(#tag, has:media)`, "W_BRANCH_NOT_STANDALONE"},
		{all, `social or data`, `and(social, or, data)`, ""},
		{v2, `social AND data`, "E_AND", ""},
		{[]query.Dialect{u, w}, `social AND data`, `and(social, data)`, "W_AND"},
		{[]query.Dialect{u, s}, `"social media"~5`, `"social media"~5`, ""},
		{[]query.Dialect{u, s}, `"a b"~7`, "E_PROXIMITY", ""},
		{[]query.Dialect{u, s}, `"a b"~0`, "E_PROXIMITY", ""},
		{[]query.Dialect{u, s}, `sample:10 a OR b`, "E_SAMPLE", ""},
		{[]query.Dialect{u, s}, `(a OR b) sample:10`, `and(or(a, b), sample:10)`, ""},
		{[]query.Dialect{u, s}, `-sample:10 a`, "E_NOT_NEGATABLE", ""},
		{[]query.Dialect{u, s}, `a sample:0`, "E_SAMPLE", ""},
		{[]query.Dialect{u, s}, `a sample:101`, "E_SAMPLE", ""},
		{[]query.Dialect{u, s, r}, `"mobile games" -is:nullcast`, `and("mobile games", not is:nullcast)`, ""},
		{[]query.Dialect{u, s, r}, `"x" is:nullcast`, "E_MUST_NEGATE", ""},
		{[]query.Dialect{u, s, r}, `point_radius:[2.355128 48.861118 16km]`, `point_radius:[2.355128 48.861118 16km]`, ""},
		{[]query.Dialect{u, s, r}, `point_radius:[2.355128 48.861118 41km]`, "E_GEO", ""},
		{[]query.Dialect{u, s, r}, `point_radius:[48.8 200 1km]`, "E_GEO", ""},
		{[]query.Dialect{u, s, r}, `bounding_box:[-105.301758 39.964069 -105.178505 40.09455]`, `bounding_box:[-105.301758 39.964069 -105.178505 40.09455]`, ""},
		{[]query.Dialect{u, s}, `api followers_count:1000..10000`, `and(api, followers_count:1000..10000)`, ""},
		{[]query.Dialect{u, s}, `api followers_count:..10`, "E_RANGE", ""},
		{[]query.Dialect{u, s}, `api followers_count:10..1`, "E_RANGE", ""},
		{[]query.Dialect{u, s}, `context:47.*`, `context:47.*`, ""},
		{[]query.Dialect{r}, `context:47.*`, "E_CONTEXT", ""},
		{[]query.Dialect{u, s}, `context:*.7990`, `context:*.7990`, ""},
		{all, `from:2244994945 OR from:api`, `or(from:2244994945, from:api)`, ""},
		{all, `from:@nasa`, `from:nasa`, "W_AT"},
		{all, `from:a,b`, "E_ONE_VALUE", ""},
		{[]query.Dialect{u, w}, `What ?`, `and(What, ?)`, ""},
		{[]query.Dialect{u, w}, `+radiooooo`, `+radiooooo`, ""},
		{[]query.Dialect{u, w}, `nasa since:2021-12-31_23:59:59_UTC until:2022-01-01`, `and(nasa, since:2021-12-31_23:59:59_UTC, until:2022-01-01)`, ""},
		{[]query.Dialect{u, w}, `since:2021-12-31`, "E_NO_STANDALONE", ""},
		{[]query.Dialect{u, w}, `fire near:san-francisco within:10km`, `and(fire, near:san-francisco, within:10km)`, ""},
		{[]query.Dialect{u, w}, `within:10km`, "E_NEAR", ""},
		{[]query.Dialect{u, w}, `geocode:37.7764685,-122.4172004,10km`, `geocode:37.7764685,-122.4172004,10km`, ""},
		{[]query.Dialect{w}, `nasa -min_faves:500`, `and(nasa, not min_faves:500)`, ""},
		{[]query.Dialect{u}, `nasa -min_faves:500`, `and(nasa, not min_likes:500)`, "W_WEB_NAME"},
		{[]query.Dialect{u, r}, `min_likes:10`, `min_likes:10`, ""},
		{[]query.Dialect{u, r}, `min_replies:10 OR min_reposts:10`, `or(min_replies:10, min_reposts:10)`, ""},
		{[]query.Dialect{u}, `min_faves:10`, `min_likes:10`, "W_WEB_NAME"},
		{[]query.Dialect{w}, `min_faves:10`, "E_NO_STANDALONE", ""},
		{[]query.Dialect{w}, `min_replies:10 OR min_retweets:10`, "E_NO_STANDALONE", ""},
		{[]query.Dialect{u, s}, `followers_count:10`, "E_NO_STANDALONE", ""},
		{[]query.Dialect{r}, `cats min_faves:100`, "E_WEB_NAME", ""},
		{all, `(a OR (b c)) -d`, `and(or(a, and(b, c)), not d)`, ""},
		{[]query.Dialect{u, w}, `-(-a -b)`, `or(a, b)`, "W_NEG_GROUP"},
		{[]query.Dialect{u}, `-(-a has:media)`, "E_NEG_BRANCH", ""},
		{[]query.Dialect{u}, `has:media -(-#a has:links)`, `and(has:media, not and(not #a, has:links))`, "W_BRANCH_NOT_STANDALONE"},
		{[]query.Dialect{u}, `a since:2022-01-01 until:2022-01-01`, `and(a, since:2022-01-01, until:2022-01-01)`, "W_UNSAT"},
		{all, `()`, "E_EMPTY_GROUP", ""},
		{all, `(a`, "E_PAREN", ""},
		{all, `a)`, "E_PAREN", ""},
		{all, `a OR`, "E_OPERAND", ""},
		{all, `OR a`, "E_OPERAND", ""},
		{all, `a OR OR b`, "E_OPERAND", ""},
		{[]query.Dialect{u, s, r}, `-`, "E_MINUS", ""},
		{[]query.Dialect{w}, `-`, "E_OPERAND", ""},
		{all, `from:`, "E_EMPTY_VALUE", ""},
		{all, `""`, "E_EMPTY_PHRASE", ""},
		{[]query.Dialect{u, s, r}, `"artificial intelligence" OR "machine learning" lang:en -is:retweet`,
			`or("artificial intelligence", and("machine learning", lang:en, not is:retweet))`, "W_MIXED"},
	} {
		for _, d := range row.dialects {
			p, warnings, err := query.Parse(row.query, query.Options{Dialect: d})
			got := firstCode(err)
			if err == nil {
				got = p.Tree()
			}
			if got != row.want {
				t.Errorf("%s: %s: got %s, want %s (%v)", d, row.query, got, row.want, err)
			}
			for want := range strings.FieldsSeq(row.warnings) {
				if !slices.Contains(codes(warnings), want) {
					t.Errorf("%s: %s: warnings %v, want %s", d, row.query, codes(warnings), want)
				}
			}
			if row.warnings == "" && err == nil && d != query.Union && d != query.Web && len(warnings) > 0 {
				t.Errorf("%s: %s: warnings %v, want none", d, row.query, codes(warnings))
			}
		}
	}
}

func firstCode(err error) string {
	var bad *query.SyntaxError
	if errors.As(err, &bad) {
		return bad.Errors[0].Code
	}
	return ""
}

func codes(list []query.Warning) []string {
	var out []string
	for _, w := range list {
		out = append(out, w.Code)
	}
	return out
}

// What dialects promise of case, accents, punctuation and counts.
func TestMatchInDialects(t *testing.T) {
	for _, row := range []struct {
		dialect query.Dialect
		query   string
		post    fetcher.Tweet
		want    bool
	}{
		{query.V2Stream, `"coca-cola"`, fetcher.Tweet{Text: "I like coca cola"}, true},
		{query.Union, `"coca-cola"`, fetcher.Tweet{Text: "I like coca cola"}, true},
		{query.Union, `"#hashtag"`, fetcher.Tweet{Text: "#hashtag"}, true},
		{query.Union, `"#hashtag"`, fetcher.Tweet{Text: "hashtag"}, true},
		{query.Union, `#hashtag`, fetcher.Tweet{Text: "hashtag"}, false},
		{query.Web, `nasa -min_faves:500`, fetcher.Tweet{Text: "nasa", FavoriteCount: 499}, true},
		{query.Web, `nasa -min_faves:500`, fetcher.Tweet{Text: "nasa", FavoriteCount: 500}, false},
		{query.V2Stream, `diacrítica`, fetcher.Tweet{Text: "diacritica"}, false},
		{query.V2Search, `diacrítica`, fetcher.Tweet{Text: "diacritica"}, true},
		{query.V2Stream, `CAT`, fetcher.Tweet{Text: "cat"}, true},
		{query.V2Stream, `cat`, fetcher.Tweet{Text: "CAT"}, true},
	} {
		p, _, err := query.Parse(row.query, query.Options{Dialect: row.dialect})
		if err != nil {
			t.Errorf("%s: %v", row.query, err)
			continue
		}
		if got := p.Match(&row.post); got != row.want {
			t.Errorf("%s: %s on %q: %v, want %v", row.dialect, row.query, row.post.Text, got, row.want)
		}
	}
}

func TestErrorsSayWhereAndWhatInstead(t *testing.T) {
	for _, row := range []struct {
		dialect    query.Dialect
		query      string
		code       string
		start, end int
		hint       string // part of it
	}{
		{query.V2Search, `cats min_faves:100`, "E_WEB_NAME", 5, 14, "min_likes"},
		{query.V2Search, `nasa since:2021-12-31`, "E_WEB_NAME", 5, 10, "start_time"},
		{query.Union, `a OR`, "E_OPERAND", 4, 4, "clause"},
		{query.Union, `a)`, "E_PAREN", 1, 2, ""},
		{query.Union, `b (a`, "E_PAREN", 2, 3, ")"},
		{query.Union, `a b from:`, "E_EMPTY_VALUE", 4, 9, "without a space"},
		{query.Union, `é form:nasa`, "E_UNKNOWN_OP", 3, 8, "from:"},
		{query.Union, `see http://x.org`, "E_UNKNOWN_OP", 4, 9, `"http://x.org"`},
		{query.Union, `at 12:30`, "E_UNKNOWN_OP", 3, 6, `"12:30"`},
		{query.Union, `a is:retweeet`, "E_UNKNOWN_VALUE", 5, 13, "is:retweet"},
		{query.V2Stream, `social AND data`, "E_AND", 7, 10, "leave it out"},
		{query.V2Stream, `x coca-cola`, "E_PUNCT", 2, 11, `"coca-cola"`},
		{query.V2Stream, `skiing -(snow OR day)`, "E_NEG_GROUP", 7, 21, "-snow -day"},
		{query.Union, `“smart”`, "E_KEYWORD", 0, 11, "straight"},
		{query.Union, `a "b" ~5`, "E_KEYWORD", 6, 8, ""},
		{query.Union, `wild*`, "E_WILDCARD", 0, 5, `"a * b"`},
		{query.Union, `"open`, "E_QUOTE", 0, 1, `"`},
		{query.Union, `(a)(b)`, "E_SPACE", 3, 4, "space"},
		{query.Union, `point_radius:[48.8 200 1km]`, "E_GEO", 0, 27, "-90 to 90"},
	} {
		_, _, err := query.Parse(row.query, query.Options{Dialect: row.dialect})
		var bad *query.SyntaxError
		if !errors.As(err, &bad) {
			t.Errorf("%s: accepted", row.query)
			continue
		}
		e := bad.Errors[0]
		if e.Code != row.code || e.Start != row.start || e.End != row.end || !strings.Contains(e.Hint, row.hint) {
			t.Errorf("%s: %+v, want %s at %d to %d with %q", row.query, e, row.code, row.start, row.end, row.hint)
		}
	}
}

func TestSeveralErrorsAreReportedAtOnce(t *testing.T) {
	_, _, err := query.Parse(`form:nasa lang:english "a b"~9 (x`, query.Options{})
	var bad *query.SyntaxError
	if !errors.As(err, &bad) {
		t.Fatal("accepted")
	}
	if got, want := strings.Join(codes(bad.Errors), " "), "E_UNKNOWN_OP E_LANG E_PROXIMITY E_PAREN"; got != want {
		t.Errorf("codes %s, want %s", got, want)
	}
	if msg := bad.Error(); !strings.HasPrefix(msg, "rule: E_UNKNOWN_OP at byte 0: ") || !strings.HasSuffix(msg, "(and 3 more)") {
		t.Errorf("message %q", msg)
	}
}

func TestLimits(t *testing.T) {
	for _, row := range []struct {
		name, query string
		o           query.Options
		code        string // "" for none
	}{
		{"every character counts", `(happy OR happiness) place_country:GB -birthday -is:retweet`, query.Options{MaxLength: 59}, ""},
		{"and is one too many", `(happy OR happiness) place_country:GB -birthday -is:retweet`, query.Options{MaxLength: 58}, "E_TOO_LONG"},
		{"length, at", strings.Repeat("é", 1024), query.Options{}, ""},
		{"length, over", strings.Repeat("é", 1025), query.Options{}, "E_TOO_LONG"},
		{"own length", "abcdef", query.Options{MaxLength: 5}, "E_TOO_LONG"},
		{"clauses, at", "a b c", query.Options{MaxClauses: 3}, ""},
		{"clauses, over", "a b c d", query.Options{MaxClauses: 3}, "E_TOO_MANY_CLAUSES"},
		{"depth, at", strings.Repeat("(", 64) + "a" + strings.Repeat(")", 64), query.Options{}, ""},
		{"depth, over", strings.Repeat("(", 65) + "a" + strings.Repeat(")", 65), query.Options{}, "E_TOO_DEEP"},
		{"own depth", "((a))", query.Options{MaxDepth: 1}, "E_TOO_DEEP"},
		{"negated depth", "x " + strings.Repeat("-(", 65) + "a" + strings.Repeat(")", 65), query.Options{}, "E_TOO_DEEP"},
		{"phrase", `"` + strings.Repeat("a ", 513) + `"`, query.Options{MaxLength: 2000}, "E_PHRASE_TOO_LONG"},
		{"proximity", `"` + strings.Repeat("a ", 65) + `"~2`, query.Options{}, "E_PROXIMITY"},
		{"empty", " \t\n", query.Options{}, "E_EMPTY"},
	} {
		_, _, err := query.Parse(row.query, row.o)
		if got := firstCode(err); got != row.code {
			t.Errorf("%s: %q (%v), want %q", row.name, got, err, row.code)
		}
	}
}
