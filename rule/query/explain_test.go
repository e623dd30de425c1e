package query_test

import (
	"testing"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/rule/query"
)

func TestExplainFindsTheText(t *testing.T) {
	post := tweet{Text: "The Café: #Moon by @NASA, $BRK.A rises. So nice :) Really?", Hashtags: []fetcher.Hashtag{{Text: "Moon"}}}
	for _, row := range []struct {
		dialect query.Dialect
		query   string
		text    string
		at      int
	}{
		{query.Union, "cafe", "Café", 4},
		{query.Union, `"cafe moon"`, "Café: #Moon", 4},
		{query.Union, `"moon cafe"~3`, "Café: #Moon", 4},
		{query.Union, "#moon", "Moon", 12},
		{query.Union, "@nasa", "NASA", 21},
		{query.Union, "$brk.a", "BRK.A", 28},
		{query.Union, "contains:rise", "rise", 34},
		{query.Union, "contains:\u212a", "", 0}, // the Kelvin sign is a k, of another length
		{query.Web, "rise", "rises", 34},
		{query.Web, ":)", ":)", 49},
		{query.Web, "?", "?", 58},
		{query.Union, "nothing", "", 0},
		{query.Union, "-nothing x", "", 0},
	} {
		e := parse(t, row.query, row.dialect).Explain(&post)
		if e.Text != row.text || e.Found[0] != row.at || e.Found[1] != row.at+len(row.text) {
			t.Errorf("%s: found %q at %v, want %q at %d", row.query, e.Text, e.Found, row.text, row.at)
		}
	}
}

// A letter whose upper and lower case differ in length makes the place of a
// substring unknown; Explain then finds none.
func TestExplainWhereCaseChangesTheLength(t *testing.T) {
	for text, q := range map[string]string{"k": "contains:\u212a", "ß": "contains:ẞ", "a kk b": "contains:\u212a"} {
		e := parse(t, q, query.Union).Explain(&tweet{Text: text})
		if e.Verdict != query.Yes || e.Text != "" {
			t.Errorf("%s in %q: %s, found %q, want yes and no place", q, text, e.Verdict, e.Text)
		}
	}
}

func TestExplainNamesTheClausesOfTheQuery(t *testing.T) {
	text := `cat (dog OR -bird) is:verified`
	p, _, err := query.Parse(`cat (dog OR bird) is:verified`, query.Options{})
	if err != nil {
		t.Fatal(err)
	}
	e := p.Explain(&tweet{Text: "cat bird"})
	if e.Verdict != query.Unknown || len(e.Parts) != 3 {
		t.Fatalf("verdict %s with %d parts", e.Verdict, len(e.Parts))
	}
	or := e.Parts[1]
	if or.Clause != "OR" || text[or.Start:or.Start+4] != "(dog" && or.Start != 5 {
		t.Errorf("second part %q at %d", or.Clause, or.Start)
	}
	if v := e.Parts[2]; v.Verdict != query.Unknown || v.Reason == "" || v.Clause != "is:verified" {
		t.Errorf("third part %+v", v)
	}
	hidden := parse(t, "cat", query.Web).Explain(&tweet{Text: "cat", IsRetweet: true})
	if hidden.Verdict != query.No || hidden.Reason == "" {
		t.Errorf("retweet in the web dialect: %+v", hidden)
	}
}
