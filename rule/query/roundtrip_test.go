package query_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/streamwatch/streamwatch/rule/query"
)

// checkRoundTrip fails unless Parse reads the normalised and the canonical form
// of a query as equal programs. It returns that of the normalised form, nil for
// a query that is refused.
func checkRoundTrip(t *testing.T, text string, d query.Dialect) *query.Program {
	t.Helper()
	o := query.Options{Dialect: d}
	p, _, err := query.Parse(text, o)
	if err != nil {
		return nil
	}
	// The normalised form may have more quotes, and so be longer.
	o.MaxLength = 4 * query.MaxQuery
	again, _, err := query.Parse(p.String(), o)
	if err != nil {
		t.Fatalf("%s: %q is normalised to %q: %v", d, text, p, err)
	}
	if p.Tree() != again.Tree() || p.String() != again.String() {
		t.Fatalf("%s: %q:\nfirst  %s\nsecond %s", d, text, p.Tree(), again.Tree())
	}
	canonical, _, err := query.Parse(p.Canonical(), o)
	if err != nil {
		t.Fatalf("%s: %q has the canonical form %q: %v", d, text, p.Canonical(), err)
	}
	if canonical.Canonical() != p.Canonical() {
		t.Fatalf("%s: %q: canonical form %q, of that %q", d, text, p.Canonical(), canonical.Canonical())
	}
	return again
}

// Queries with the same canonical form share their polls.
func TestCanonical(t *testing.T) {
	for _, row := range []struct {
		a, b string
		same bool
	}{
		{"Moon landing", "moon LANDING", true},
		{"(moon)  landing", "moon landing", true},
		{`"moon" landing`, "moon landing", true},
		{`"Moon Landing"`, `"moon landing"`, true},
		{"#Moon @NASA $GOOG from:NASA to:ESA", "#moon @nasa $goog from:nasa to:esa", true},
		{"-Moon from:nasa", "-moon from:nasa", true},
		{`"OR" moon`, "or moon", true},
		{"moon IS:RETWEET", "moon is:retweet", true},
		{"moon landing", "landing moon", false},
		{"moon OR landing", "moon landing", false},
		{"café", "cafe", false},
		{"ÉTÉ", "été", false}, // platforms differ in how they fold these
		{"conversation_id:at://A/b", "conversation_id:at://a/b", false},
		{"url:Example", "url:example", false},
	} {
		a, b := parse(t, row.a, query.Union), parse(t, row.b, query.Union)
		if got := a.Canonical() == b.Canonical(); got != row.same {
			t.Errorf("%q is %q, %q is %q: want the same: %t", row.a, a.Canonical(), row.b, b.Canonical(), row.same)
		}
	}
}

func TestRoundTrip(t *testing.T) {
	for _, text := range queries(t) {
		for _, d := range dialects {
			checkRoundTrip(t, text, d)
		}
	}
}

// values are values of operators, some of which only quotes hold together.
var values = []string{"a", "7", "a b", "a\u2003b", "a\u00a0b", "a\u0085b", "a\vb", "[x", "[x]", "[", "a[x", "a,b", ",", "-a", "a-b", "a_b", "a:b", "at://A/b", "a\\", "a\\ b",
	"OR", "AND", "NOT", "*", "~2", "a~2", "#a", "@a", "$A", "+a", "?", ":)", "a:)", "(a)", "a&b=c", "é", "“a”", "日本", "🚀️", "X for iPhone",
	"2021-12-31", "2021-12-31_23:59:59_UTC", "2021-12-31_23:59:59,5_UTC", "2021-12-31_23:59:59.5_UTC", "1,2,3km", "1, 2,3km", "10km", "10 km",
	"[1 2 3km]", "[1 2 3 km]", "[1\u20032 3km]", "[-0.2 -0.1 0.1 0.1]", "1..2", "01..02", "0.5", "+0.5", "0x1p-2", "1e-3", "en", "hi-Latn", "GB", "47.*", "3h", "ann/list-1", "ＡＢ"}

// beside is what an operator needs to be accepted.
func beside(operator string) string {
	if operator == "within" {
		return "x near:y "
	}
	return "x "
}

func TestRoundTripOfValues(t *testing.T) {
	read := 0
	for _, name := range query.OperatorNames() {
		for _, value := range values {
			for _, d := range dialects {
				for _, text := range []string{value, `"` + value + `"`} {
					if checkRoundTrip(t, beside(name)+name+":"+text, d) != nil {
						read++
					}
				}
			}
		}
	}
	if read < 2000 {
		t.Errorf("%d of the queries were accepted: the test compares too little", read)
	}
}

// An operator with any value is read again as the same.
func FuzzValue(f *testing.F) {
	names := query.OperatorNames()
	for i, value := range values {
		f.Add(uint8(i), value, uint8(i))
	}
	f.Fuzz(func(t *testing.T, name uint8, value string, d uint8) {
		operator := names[int(name)%len(names)]
		for _, text := range []string{value, `"` + strings.ReplaceAll(value, `"`, `\"`) + `"`} {
			checkRoundTrip(t, beside(operator)+operator+":"+text, query.Dialect(d%4))
		}
	})
}

// translatable are the dialects that queries are translated to.
var translatable = []query.Dialect{query.V2Stream, query.V2Search}

// A random query matches the same posts after a round trip, and after a
// translation that loses nothing.
func TestRoundTripMeansTheSame(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	same, exact := 0, 0
	for range 3000 {
		d := dialects[r.IntN(len(dialects))]
		expr := randomQuery(r, 3)
		again := checkRoundTrip(t, expr, d)
		if again == nil {
			continue
		}
		p := parse(t, expr, d)
		canonical := parse(t, p.Canonical(), d)
		to := translatable[r.IntN(len(translatable))]
		text, report := p.Translate(to)
		var translated *query.Program
		if text != "" {
			q, _, err := query.Parse(text, query.Options{Dialect: to})
			if err != nil {
				t.Fatalf("%s %q is translated to %s %q: %v", d, expr, to, text, err)
			}
			if report.Exact() {
				translated = q
				exact++
			}
		} else if report.Exact() {
			t.Fatalf("%s %q is translated to nothing without a loss", d, expr)
		}
		for range 20 {
			post := randomPost(r)
			want := p.Match(post)
			if want {
				same++
			}
			if canonical.Match(post) != want {
				t.Fatalf("%s: %q and %q differ on %+v", d, expr, canonical, post)
			}
			if got := again.Match(post); got != want {
				t.Fatalf("%s: %q and %q differ on %+v", d, expr, again, post)
			}
			if translated != nil && translated.Match(post) != want {
				t.Fatalf("%s %q and %s %q differ on %+v", d, expr, to, text, post)
			}
		}
	}
	if same < 500 || exact < 50 {
		t.Errorf("%d matches, %d exact translations: the test compares too little", same, exact)
	}
}

func FuzzParse(f *testing.F) {
	for i, q := range queries(f) {
		f.Add(q, uint8(i))
	}
	f.Add(strings.Repeat("(", 2000), uint8(0))
	f.Fuzz(func(t *testing.T, expr string, d uint8) {
		dialect := query.Dialect(d % 4)
		p, warnings, err := query.Parse(expr, query.Options{Dialect: dialect})
		for _, w := range warnings {
			if w.Start < 0 || w.End < w.Start || w.End > len(expr) {
				t.Errorf("warning outside of the query: %v", w)
			}
		}
		if err != nil {
			for _, e := range err.(*query.SyntaxError).Errors {
				if e.Start < 0 || e.End < e.Start || e.End > len(expr) || e.Message == "" {
					t.Errorf("error outside of the query: %v", e)
				}
			}
			return
		}
		checkRoundTrip(t, expr, dialect)
		p.NeedsUpstream()
		for _, to := range translatable {
			text, report := p.Translate(to)
			if text == "" && report.Exact() {
				t.Errorf("%s to %s: nothing left and nothing lost", dialect, to)
			}
			if to == dialect && !report.Exact() {
				t.Errorf("%s: a loss in its own dialect: %v", dialect, report.Losses)
			}
		}
	})
}

// Match, Explain and Set agree on any query and text, in bounded steps.
func FuzzMatch(f *testing.F) {
	f.Add("cat", "a cat", uint8(0))
	f.Add(`"a b"~3 -c`, "b x a", uint8(1))
	f.Add("#café OR @nasa OR $BRK.A", "#CAFÉ @NASA $BRK.A https://x.org/#a", uint8(2))
	f.Add(`"a * b" :) ?`, "a x b :)? 日本 🇬🇧 e\u0301", uint8(3))
	f.Add("contains:é", "\xff\xc3\x28É", uint8(0))
	f.Fuzz(func(t *testing.T, q, text string, d uint8) {
		p, _, err := query.Parse(q, query.Options{Dialect: query.Dialect(d % 4)})
		if err != nil {
			return
		}
		post := &tweet{ID: "1", Text: text, UserName: text, Username: "ann"}
		got := p.Match(post)
		e := p.Explain(post)
		if (e.Verdict == query.Yes) != got {
			t.Errorf("Match says %v, Explain\n%v", got, e)
		}
		s := query.NewSet()
		s.Add("", p)
		if found := len(matches(s, post)) == 1; found != got {
			t.Errorf("Match says %v, Set %v", got, found)
		}
		if steps, most := p.Steps(post), stepBound(q, text); steps > most {
			t.Errorf("%d steps for %d bytes of query and %d of text; want at most %d", steps, len(q), len(text), most)
		}
	})
}
