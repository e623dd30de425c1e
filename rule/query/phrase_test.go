package query_test

import (
	"fmt"
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
