package rule_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/streamwatch/streamwatch/rule"
)

// checkRoundTrip fails unless the normalised form of a program is read as an
// equal program.
func checkRoundTrip(t *testing.T, query string, d rule.Dialect) *rule.Program {
	t.Helper()
	o := rule.Options{Dialect: d}
	p, _, err := rule.Parse(query, o)
	if err != nil {
		return nil
	}
	// Quotes that are added must not make it too long.
	o.MaxLength = 4 * rule.MaxQuery
	again, _, err := rule.Parse(p.String(), o)
	if err != nil {
		t.Fatalf("%s: %q is normalised to %q: %v", d, query, p, err)
	}
	if p.Tree() != again.Tree() || p.String() != again.String() {
		t.Fatalf("%s: %q:\nfirst  %s\nsecond %s", d, query, p.Tree(), again.Tree())
	}
	canonical, _, err := rule.Parse(p.Canonical(), o)
	if err != nil {
		t.Fatalf("%s: %q has the canonical form %q: %v", d, query, p.Canonical(), err)
	}
	if canonical.Canonical() != p.Canonical() {
		t.Fatalf("%s: %q: canonical form %q, of that %q", d, query, p.Canonical(), canonical.Canonical())
	}
	return again
}

// Which queries are the same question, and share their polls.
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
		{"ÉTÉ", "été", false}, // as platforms fold it is theirs to know
		{"conversation_id:at://A/b", "conversation_id:at://a/b", false},
		{"url:Example", "url:example", false},
	} {
		a, b := parse(t, row.a, rule.Union), parse(t, row.b, rule.Union)
		if got := a.Canonical() == b.Canonical(); got != row.same {
			t.Errorf("%q is %q, %q is %q: the same should be %t", row.a, a.Canonical(), row.b, b.Canonical(), row.same)
		}
	}
}

func TestRoundTrip(t *testing.T) {
	for _, query := range queries(t) {
		for _, d := range dialects {
			checkRoundTrip(t, query, d)
		}
	}
}

// Random trees also match the same posts after the round trip, and after a
// translation that loses nothing.
func TestRoundTripMeansTheSame(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	same, exact := 0, 0
	for range 3000 {
		d := dialects[r.IntN(len(dialects))]
		query := randomQuery(r, 3)
		again := checkRoundTrip(t, query, d)
		if again == nil {
			continue
		}
		p := parse(t, query, d)
		canonical := parse(t, p.Canonical(), d)
		to := dialects[r.IntN(len(dialects))]
		text, report := p.Translate(to)
		var translated *rule.Program
		if text != "" {
			q, _, err := rule.Parse(text, rule.Options{Dialect: to})
			if err != nil {
				t.Fatalf("%s %q is translated to %s %q: %v", d, query, to, text, err)
			}
			if report.Exact() {
				translated = q
				exact++
			}
		} else if report.Exact() {
			t.Fatalf("%s %q is translated to nothing without a loss", d, query)
		}
		for range 20 {
			post := randomPost(r)
			want := p.Match(post)
			if want {
				same++
			}
			if canonical.Match(post) != want {
				t.Fatalf("%s: %q and %q differ on %+v", d, query, canonical, post)
			}
			if got := again.Match(post); got != want {
				t.Fatalf("%s: %q and %q differ on %+v", d, query, again, post)
			}
			if translated != nil && translated.Match(post) != want {
				t.Fatalf("%s %q and %s %q differ on %+v", d, query, to, text, post)
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
	f.Fuzz(func(t *testing.T, query string, d uint8) {
		dialect := rule.Dialect(d % 4)
		p, warnings, err := rule.Parse(query, rule.Options{Dialect: dialect})
		for _, w := range warnings {
			if w.Start < 0 || w.End < w.Start || w.End > len(query) {
				t.Errorf("warning outside of the query: %v", w)
			}
		}
		if err != nil {
			for _, e := range err.(*rule.SyntaxError).Errors {
				if e.Start < 0 || e.End < e.Start || e.End > len(query) || e.Message == "" {
					t.Errorf("error outside of the query: %v", e)
				}
			}
			return
		}
		checkRoundTrip(t, query, dialect)
		p.NeedsUpstream()
		for _, to := range dialects {
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
	f.Fuzz(func(t *testing.T, query, text string, d uint8) {
		p, _, err := rule.Parse(query, rule.Options{Dialect: rule.Dialect(d % 4)})
		if err != nil {
			return
		}
		post := &tweet{ID: "1", Text: text, UserName: text, Username: "ann"}
		got := p.Match(post)
		e := p.Explain(post)
		if (e.Verdict == rule.Yes) != got {
			t.Errorf("Match says %v, Explain\n%v", got, e)
		}
		s := rule.NewSet()
		s.Add("", p)
		if found := len(matches(s, post)) == 1; found != got {
			t.Errorf("Match says %v, Set %v", got, found)
		}
		if steps, most := p.Steps(post), stepBound(query, text); steps > most {
			t.Errorf("%d steps for %d bytes of query and %d of text; at most %d are expected", steps, len(query), len(text), most)
		}
	})
}
