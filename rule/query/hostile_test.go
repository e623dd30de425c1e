package query_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/streamwatch/streamwatch/internal/testsize"
	"github.com/streamwatch/streamwatch/rule/query"
)

// stepBound is the most work that matching may take: linear in the text, with
// a factor that is linear in the query.
func stepBound(q, text string) int { return (32 + 8*len(q)) * (2*len(text) + 64) }

// hostileQueries try to make a matcher slow.
func hostileQueries() []string {
	const room = query.MaxQuery
	fill := func(unit string) string { return strings.TrimSpace(strings.Repeat(unit, room/len(unit))) }
	phrase := func(unit string) string {
		return `"` + strings.TrimSpace(strings.Repeat(unit, (room-8)/len(unit))) + `"`
	}
	return []string{
		fill("a "), fill("b "), fill("x OR ") + " x", fill("日"), fill("🚀"), fill("🇬🇧"), fill("👨\u200d👩"), strings.Repeat("日a", 256), "+" + strings.Repeat("日a", 256), strings.Repeat("日a", 257), "+" + strings.Repeat("日a", 257), strings.Repeat("日", 600) + "-a", fill("é"), fill("e\u0301"),
		phrase("a "), phrase("a b "), phrase("b a "), phrase("日"), phrase("a a b "), phrase("🚀"), phrase("* a "), phrase("a * "), phrase("! a "), phrase("a-"), phrase("ab "),
		`"` + strings.Repeat("a ", 200) + `b"`, `"b ` + strings.Repeat("a ", 200) + `"`, `"` + strings.Repeat("a ", 150) + "b " + strings.Repeat("a ", 150) + `"`,
		`"a * * * * * * * * * * * * * * * * * * b"`, `"* * * * * * * * * * * * * * * * * * b"`,
		`"` + strings.Repeat("a ", 63) + `a"~6`, `"` + strings.Repeat("a b ", 31) + `c"~6`, `"` + strings.Repeat("a ", 63) + `b"~6`, `"a a a a a a a a b b b b b b b b"~6`,
		`"` + strings.Repeat("* a ", 32) + `"~6`, `"` + strings.Repeat("* ", 63) + `a"~6`, `"a ` + strings.Repeat("* ", 63) + `"~6`, `"` + strings.Repeat("a * b * ", 16) + `"~6`, `"* a"~1`,
		"contains:" + strings.Repeat("a", room-20), "contains:" + strings.Repeat("ab", 400), `contains:"` + strings.Repeat("a ", 400) + `b"`,
		"url:" + strings.Repeat("a", 900), `url:"` + strings.Repeat("a.", 400) + `"`, "url_contains:" + strings.Repeat("a", 900) + "b",
		strings.Repeat("(", 64) + "a" + strings.Repeat(")", 64), "a " + strings.Repeat("-(b ", 60) + "c" + strings.Repeat(")", 60),
		strings.Repeat("(a OR (b ", 30) + "c" + strings.Repeat("))", 30),
		"(" + strings.Repeat("a OR b OR ", 90) + "c) (" + "d OR e)", strings.Repeat("(a OR b) ", 100), strings.Repeat("-a ", 300) + "b", "a " + strings.Repeat("-\"a b\" ", 140),
		strings.Repeat("#a OR ", 150) + "#b", strings.Repeat("@a OR ", 150) + "@b", strings.Repeat("$A OR ", 150) + "$B", strings.Repeat(":) ", 300), strings.Repeat("? ", 400),
		strings.Repeat(`"a b"~6 OR `, 80) + "x", strings.Repeat(`"a a"~6 OR `, 80) + "x", "bio:a OR " + strings.Repeat("place:a OR ", 80) + "x",
		strings.Repeat("source:a ", 50) + "b", "#" + strings.Repeat("a", 1000), "x sample:1 " + strings.Repeat("min_likes:1 ", 60),
	}
}

// A term has at most 512 words, however it is written: one of more is refused, and one of
// 512 matches.
func TestTermsAreBounded(t *testing.T) {
	pairs := func(unit string, n int) string { return strings.Repeat(unit, n/2) + strings.Repeat("日", n%2) }
	for _, row := range []struct {
		name     string
		term     func(words int) string // all of one clause
		dialects []query.Dialect
	}{
		{"a keyword of two scripts", func(n int) string { return pairs("日a", n) }, dialects},
		{"a keyword of one", func(n int) string { return strings.Repeat("日", n) }, dialects},
		{"a word behind +", func(n int) string { return "+" + pairs("日a", n) }, []query.Dialect{query.Union, query.Web}},
		{"a part before a hyphen", func(n int) string { return pairs("日a", n) + "-c" }, []query.Dialect{query.Web}},
		{"a part behind a hyphen", func(n int) string { return "c-" + pairs("日a", n) }, []query.Dialect{query.Web}},
		{"letters and commas", func(n int) string { return "x" + strings.Repeat(",a", n-1) }, []query.Dialect{query.Union, query.Web}},
		{"a phrase", func(n int) string { return `"` + pairs("日a", n) + `"` }, dialects},
		{"a phrase with wild cards", func(n int) string { return `"` + strings.Repeat("日 * ", n/2) + strings.Repeat("a", n%2) + `"` }, []query.Dialect{query.Union, query.Web}},
	} {
		for _, d := range row.dialects {
			parse := func(words int) (*query.Program, error) {
				p, _, err := query.Parse("from:u "+row.term(words), query.Options{Dialect: d, MaxLength: 4096})
				return p, err
			}
			for _, words := range []int{513, 600, 1100} {
				var bad *query.SyntaxError
				_, err := parse(words)
				if !errors.As(err, &bad) || bad.Errors[0].Code != "E_PHRASE_TOO_LONG" || len(bad.Errors) != 1 {
					t.Errorf("%s: %s of %d words: error %v, want E_PHRASE_TOO_LONG alone", d, row.name, words, err)
				}
			}
			p, err := parse(512)
			if err != nil {
				t.Errorf("%s: %s of 512 words: %v", d, row.name, err)
				continue
			}
			text := strings.NewReplacer(`"`, "", "+", "", "-", " ", "*", "y").Replace(row.term(512))
			for want, text := range map[bool]string{true: text, false: "日 a b c x"} {
				post := &tweet{Username: "u", Text: text}
				set := query.NewSet()
				set.Add("it", p)
				if got := fmt.Sprint(p.Match(post), len(matches(set, post)) == 1, p.Explain(post).Verdict == query.Yes); got != fmt.Sprint(want, want, want) {
					t.Errorf("%s: %s of 512 words: Match, Set and Explain say %s, want %t", d, row.name, got, want)
				}
			}
		}
	}
}

// No program has a term that its matcher cannot hold, even one that the lexer let pass.
func TestCompileRefusesWideTerms(t *testing.T) {
	for _, d := range dialects {
		for words, want := range map[int]string{1: "", 512: "", 513: "E_PHRASE_TOO_LONG", 2000: "E_PHRASE_TOO_LONG"} {
			if got := query.CompileTerm(strings.Repeat("日", words), d); got != want {
				t.Errorf("%s: %d words: error %q, want %q", d, words, got, want)
			}
		}
	}
}

// hostileTexts are texts of about size bytes, by the unit that they repeat.
func hostileTexts(size int) map[string]string {
	texts := map[string]string{}
	for _, unit := range []string{"a ", "a b ", "a", "ab", "日", "🚀", "🇬🇧", "é", "e\u0301", "\u0301", "#a ", "#a", "@a ", "@", "$A ", ":) ", ":", "?",
		"http://a.co/a ", "http://", "a.com/(", "a.", "a. ", "((((", "\xff", "\u200d", "#", "RT@a"} {
		texts[unit] = strings.Repeat(unit, size/len(unit))
	}
	return texts
}

func TestHostileQueries(t *testing.T) {
	size := testsize.Of(2<<10, 4<<10, 64<<10)
	large, small := hostileTexts(size), hostileTexts(size/2)
	tried := 0
	for _, q := range hostileQueries() {
		accepted := false
		for _, d := range dialects {
			p, _, err := query.Parse(q, query.Options{Dialect: d})
			if err != nil {
				continue
			}
			accepted = true
			for unit, text := range large {
				n := p.Steps(&tweet{Text: text})
				half := p.Steps(&tweet{Text: small[unit]})
				if n > stepBound(q, text) || n > 2*half+half/8+4096 {
					t.Errorf("%s: %.40q on %.10q: %d steps for %d KiB, %d for half", d, q, unit, n, size>>10, half)
				}
			}
			if d == query.Union {
				break // the other dialects do the same work
			}
		}
		if accepted {
			tried++
		}
	}
	if tried < 50 {
		t.Errorf("%d of the queries were accepted, want 50 at least", tried)
	}
}

// Looking for links reads a text a bounded number of times, whatever it is.
func TestLinksAreFoundInLinearTime(t *testing.T) {
	const most = 2 + (128+6)/7 // the text, each host, and 128 bytes behind the parenthesis of each link of 7
	for unit, text := range hostileTexts(64 << 10) {
		if n := query.LinkSteps(text); n > most*len(text) {
			t.Errorf("%q: %d steps for %d bytes, want %d times as many at most", unit, n, len(text), most)
		}
	}
}

// Parsing takes memory, and so time, in proportion to the query.
func TestParseIsLinear(t *testing.T) {
	for _, unit := range []string{"a ", "a OR b OR ", "(a OR b) ", "-a ", `"a b" `, "from:a OR ", "((", "))", "OR ", "x: ", "- ", "#", "a-b ", `"`, "a AND ", "NOT "} {
		cost := func(n int) float64 {
			text := strings.Repeat(unit, n/len(unit)) + "a"
			return testing.AllocsPerRun(1, func() {
				query.Parse(text, query.Options{Dialect: query.Web, MaxLength: 1 << 20, MaxClauses: 1 << 20})
			})
		}
		if small, large := cost(4<<10), cost(16<<10); large > 4.5*small+100 {
			t.Errorf("%q: %v allocations for 4 KiB, %v for 16 KiB", unit, small, large)
		}
	}
}

func TestMatchDoesNotAllocate(t *testing.T) {
	if testsize.Race {
		t.Skip("the race detector empties pools at random")
	}
	post := &tweet{ID: "1212092628029698048", Text: "RT @NASA: the café is open 🚀 https://x.org/a?b #Moon $TWTR :) ?", Username: "ann", UserName: "Ann", UserID: "5",
		Lang: "en", Source: "X for iPhone", CreatedAt: "Tue Dec 31 19:26:16 +0000 2019"}
	set := query.NewSet()
	var programs []*query.Program
	for i, text := range queries(t) {
		for _, d := range dialects {
			if p, _, err := query.Parse(text, query.Options{Dialect: d}); err == nil {
				programs = append(programs, p)
				set.Add(fmt.Sprint(i, d), p)
			}
		}
	}
	for _, p := range programs {
		if n := testing.AllocsPerRun(20, func() { p.Match(post) }); n != 0 {
			t.Errorf("%s: %q: %v allocations a match", p.Dialect(), p, n)
		}
	}
	if n := testing.AllocsPerRun(20, func() { set.Match(post, func(string) {}) }); n != 0 {
		t.Errorf("set: %v allocations a match", n)
	}
}
