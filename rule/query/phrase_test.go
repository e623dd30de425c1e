package query_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/streamwatch/streamwatch/rule/query"
)

// A link counts as one word, but is none: a * of a phrase, exact or with
// proximity, does not stand for it, and no phrase reaches over it. Match, a Set
// and Explain agree, beside words and beside other links.
func TestWildcardTakesNoLink(t *testing.T) {
	for _, row := range []struct {
		query   string
		yes, no []string
	}{
		{`"a * b"`, []string{"a x b", "a https b", "https://x.org/ a x b"},
			[]string{"a https://x.org/ b", "a http://x.org/a/b b", "a https://x.org/ https://y.org/ b", "a b https://x.org/", "a x https://x.org/ b"}},
		{`"a *"`, []string{"a x", "https://x.org/ a x https://y.org/"}, []string{"a", "a https://x.org/", "a https://x.org/ x"}},
		{`"* a"`, []string{"x a", "https://x.org/ x a"}, []string{"a", "https://x.org/ a", "x https://x.org/ a"}},
		{`"a * * b"`, []string{"a x y b"}, []string{"a x https://x.org/ b", "a https://x.org/ x b", "a https://x.org/ https://y.org/ b"}},
		{`"a * b"~1`, []string{"a x b", "a x y b", "a x https://y.org/ b", "a https://y.org/ x b"},
			[]string{"a https://x.org/ b", "a https://x.org/ https://y.org/ b", "a b https://x.org/"}},
		{`"a * b"~3`, []string{"a x b", "a https://x.org/ x b"},
			[]string{"a https://x.org/ b", "https://x.org/ a b https://y.org/", "a https://x.org/ https://y.org/ https://z.org/ b"}},
		{`"a *"~2`, []string{"a https://x.org/ x", "a https://x.org/ https://y.org/ x"}, []string{"a https://x.org/", "https://x.org/ a https://y.org/"}},
		{`"* a"~1`, []string{"x https://x.org/ a"}, []string{"https://x.org/ a", "https://x.org/ https://y.org/ a"}},
	} {
		p := parse(t, row.query, query.Union)
		s := query.NewSet()
		s.Add("it", p)
		for want, texts := range map[bool][]string{true: row.yes, false: row.no} {
			for _, text := range texts {
				post := tweet{Text: text}
				e := p.Explain(&post)
				got := fmt.Sprint(p.Match(&post), len(matches(s, &post)) == 1, e.Verdict == query.Yes, e.Text != "")
				if got != fmt.Sprint(want, want, want, want) {
					t.Errorf("%s on %q: Match, Set, Explain and its text say %s, want %v\n%v", row.query, text, got, want, e)
				}
			}
		}
	}
}

// A * of a proximity phrase takes none of the words that the others need, whichever of
// them these may take.
func TestWildcardLeavesWordsToOthers(t *testing.T) {
	for _, row := range []struct {
		query, text string
		want        bool
	}{
		{`"* a"~2`, "a b", true},
		{`"* a"~2`, "a", false},
		{`"* a b"~2`, "a b a", true},
		{`"a b *"~2`, "a a b", true},
		{`"* a b *"~2`, "a b a b", true},
		{`"* a * a"~3`, "a a x", false},
		{`"* a * a"~3`, "a a x y", false},
		{`"* a * a"~4`, "a a x y", true},
	} {
		p := parse(t, row.query, query.Union)
		post := &tweet{Text: row.text}
		if e := p.Explain(post); p.Match(post) != row.want || (e.Verdict == query.Yes) != row.want {
			t.Errorf("%s on %q: %t, want %t\n%v", row.query, row.text, !row.want, row.want, e)
		}
	}
}

// A proximity phrase is found where each of its words can have a word of the text of its
// own, N places after its own place of some window at most; Explain shows such words.
func TestProximityTriesEveryWay(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	found := 0
	for range 2000 {
		words := func(from []string, n int) (list []string) {
			for range n {
				list = append(list, from[r.IntN(len(from))])
			}
			return list
		}
		phrase := append(words([]string{"a", "b", "*", "*"}, 1+r.IntN(4)), "a")
		r.Shuffle(len(phrase), func(i, j int) { phrase[i], phrase[j] = phrase[j], phrase[i] })
		text := words([]string{"a", "b", "x"}, 1+r.IntN(7))
		near := 1 + r.IntN(6)
		expr := fmt.Sprintf(`"%s"~%d`, strings.Join(phrase, " "), near)
		p := parse(t, expr, query.Union)
		want := fitsSomewhere(phrase, text, near)
		post := &tweet{Text: strings.Join(text, " ")}
		if got := p.Match(post); got != want {
			t.Fatalf("%s on %q: %t, want %t", expr, post.Text, got, want)
		}
		if want {
			found++
			if shown := strings.Fields(p.Explain(post).Text); !fitsSomewhere(phrase, shown, near) {
				t.Fatalf("%s on %q: %q is shown, which does not match by itself", expr, post.Text, shown)
			}
		}
	}
	if found < 500 || found > 1500 {
		t.Errorf("%d of 2000 match: the test compares too little", found)
	}
}

// fitsSomewhere reports whether a window of the text has a word for each of the phrase.
func fitsSomewhere(phrase, text []string, near int) bool {
	var fits func(base, i int, taken []int) bool
	fits = func(base, i int, taken []int) bool {
		if i == len(phrase) {
			return true
		}
		for at := max(0, base+i); at <= base+i+near && at < len(text); at++ {
			if (phrase[i] == "*" || phrase[i] == text[at]) && !slices.Contains(taken, at) && fits(base, i+1, append(slices.Clone(taken), at)) {
				return true
			}
		}
		return false
	}
	for base := -near - len(phrase); base < len(text); base++ {
		if fits(base, 0, nil) {
			return true
		}
	}
	return false
}
