package rule_test

import (
	"testing"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/rule"
)

func TestExplainFindsTheText(t *testing.T) {
	post := tweet{Text: "The Café: #Moon by @NASA, $BRK.A rises. So nice :) Really?", Hashtags: []fetcher.Hashtag{{Text: "Moon"}}}
	for _, row := range []struct {
		dialect rule.Dialect
		query   string
		text    string
		at      int
	}{
		{rule.Union, "cafe", "Café", 4},
		{rule.Union, `"cafe moon"`, "Café: #Moon", 4},
		{rule.Union, `"moon cafe"~3`, "Café: #Moon", 4},
		{rule.Union, "#moon", "Moon", 12},
		{rule.Union, "@nasa", "NASA", 21},
		{rule.Union, "$brk.a", "BRK.A", 28},
		{rule.Union, "contains:rise", "rise", 34},
		{rule.Union, "contains:\u212a", "", 0}, // the Kelvin sign is a k, of another length
		{rule.Web, "rise", "rises", 34},
		{rule.Web, ":)", ":)", 49},
		{rule.Web, "?", "?", 58},
		{rule.Union, "nothing", "", 0},
		{rule.Union, "-nothing x", "", 0},
	} {
		e := parse(t, row.query, row.dialect).Explain(&post)
		if e.Text != row.text || e.Found[0] != row.at || e.Found[1] != row.at+len(row.text) {
			t.Errorf("%s: found %q at %v, want %q at %d", row.query, e.Text, e.Found, row.text, row.at)
		}
	}
}

// Letters whose other case has another length do not lead beyond the text.
func TestExplainWhereCaseChangesTheLength(t *testing.T) {
	for text, query := range map[string]string{"k": "contains:\u212a", "ß": "contains:ẞ", "a kk b": "contains:\u212a"} {
		e := parse(t, query, rule.Union).Explain(&tweet{Text: text})
		if e.Verdict != rule.Yes || e.Text != "" {
			t.Errorf("%s in %q: %s, found %q, want yes and no place", query, text, e.Verdict, e.Text)
		}
	}
}

func TestExplainNamesTheClausesOfTheQuery(t *testing.T) {
	query := `cat (dog OR -bird) is:verified`
	p, _, err := rule.Parse(`cat (dog OR bird) is:verified`, rule.Options{})
	if err != nil {
		t.Fatal(err)
	}
	e := p.Explain(&tweet{Text: "cat bird"})
	if e.Verdict != rule.Unknown || len(e.Parts) != 3 {
		t.Fatalf("verdict %s with %d parts", e.Verdict, len(e.Parts))
	}
	or := e.Parts[1]
	if or.Clause != "OR" || query[or.Start:or.Start+4] != "(dog" && or.Start != 5 {
		t.Errorf("second part %q at %d", or.Clause, or.Start)
	}
	if v := e.Parts[2]; v.Verdict != rule.Unknown || v.Reason == "" || v.Clause != "is:verified" {
		t.Errorf("third part %+v", v)
	}
	hidden := parse(t, "cat", rule.Web).Explain(&tweet{Text: "cat", IsRetweet: true})
	if hidden.Verdict != rule.No || hidden.Reason == "" {
		t.Errorf("retweet in the web dialect: %+v", hidden)
	}
}
