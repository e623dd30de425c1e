package query_test

import (
	"errors"
	"fmt"
	"slices"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/rule/query"
)

func ExampleParse() {
	p, warnings, err := query.Parse(`rocket OR "moon landing" min_faves:10`, query.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(p)
	for _, w := range warnings {
		fmt.Println(w)
	}
	fmt.Println(p.Match(&fetcher.Tweet{Text: "The Moon landing, 1969", FavoriteCount: 12}))
	// Output:
	// rocket OR ("moon landing" min_likes:10)
	// W_MIXED at byte 0: AND binds tighter than OR; write rocket OR ("moon landing" min_faves:10)
	// W_WEB_NAME at byte 25: min_faves is another name of min_likes; write min_likes
	// true
}

func ExampleSyntaxError() {
	_, _, err := query.Parse(`cats min_faves:100 form:nasa`, query.Options{Dialect: query.V2Search})
	var bad *query.SyntaxError
	if errors.As(err, &bad) {
		for _, e := range bad.Errors {
			fmt.Printf("%s: %s\n", bad.Query[e.Start:e.End], e)
		}
	}
	// Output:
	// min_faves: E_WEB_NAME at byte 5: min_faves is not an operator of the v2search dialect; write min_likes
	// form:: E_UNKNOWN_OP at byte 19: there is no operator form:; did you mean from:? Otherwise quote text with a colon in it: "form:nasa"
}

func ExampleProgram_Explain() {
	p, _, err := query.Parse(`(rocket OR #moon) -is:retweet is:verified`, query.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(p.Explain(&fetcher.Tweet{Text: "To the #Moon!"}))
	// Output:
	// unknown AND
	// yes       OR
	// no          rocket
	// yes         #moon  "Moon" at 8
	// yes       -is:retweet
	// unknown   is:verified  (the post's record does not say)
}

func ExampleProgram_NeedsUpstream() {
	p, _, err := query.Parse(`fire has:images bounding_box:[-105.3 39.96 -105.17 40.09]`, query.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, op := range p.NeedsUpstream() {
		fmt.Println(op.Name, "at", op.Start)
	}
	// Output: bounding_box at 16
}

func ExampleProgram_Translate() {
	p, _, err := query.Parse(`#moon min_faves:10 since:2026-01-01`, query.Options{Dialect: query.Web})
	if err != nil {
		fmt.Println(err)
		return
	}
	text, report := p.Translate(query.V2Search)
	fmt.Println(text)
	for _, loss := range report.Losses {
		fmt.Println(loss)
	}
	// Output:
	// #moon min_likes:10 -is:retweet
	// since:2026-01-01: there is no such operator; use the request parameters start_time and end_time
}

func ExampleSet() {
	set := query.NewSet()
	for id, text := range map[string]string{"space": "rocket OR #moon", "nasa": "from:nasa -is:reply", "cats": "cat has:images"} {
		p, _, err := query.Parse(text, query.Options{})
		if err != nil {
			fmt.Println(err)
			return
		}
		set.Add(id, p)
	}
	var hits []string
	set.Match(&fetcher.Tweet{Username: "NASA", Text: "To the #moon"}, func(id string) { hits = append(hits, id) })
	slices.Sort(hits)
	fmt.Println(hits)
	// Output: [nasa space]
}
