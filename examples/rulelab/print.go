package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/rule/query"
)

// Colours are the terminal's codes (ECMA-48, SGR).
const (
	bold   = "1"
	red    = "31"
	green  = "32"
	yellow = "33"
	grey   = "90"
)

// paint colours a text where that can be seen.
func (l *lab) paint(colour, text string) string {
	if !l.colour || text == "" {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

// clean removes characters of a post or query that would control the terminal.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return ' '
		}
		return r
	}, s)
}

// point prints a query and marks what is meant in it.
func (l *lab) point(text string, d query.Diagnostic, colour string) {
	before, marked := utf8.RuneCountInString(text[:d.Start]), utf8.RuneCountInString(text[d.Start:d.End])
	fmt.Fprintf(l.out, "  %s\n  %s%s\n%s\n", clean(text), strings.Repeat(" ", before),
		l.paint(colour, strings.Repeat("^", max(1, marked))), l.paint(colour, clean(d.String())))
}

// post prints a matching post and marks the matching text in it.
func (l *lab) post(t *fetcher.Tweet, e query.Explanation) {
	fmt.Fprintf(l.out, "%s  @%s  %s\n", l.paint(grey, clean(t.ID)), clean(t.Username), l.marked(textOf(t), e))
}

func textOf(t *fetcher.Tweet) string {
	if t.FullText != "" {
		return t.FullText
	}
	return t.Text
}

// marked colours the parts of a text that meet a clause.
func (l *lab) marked(text string, e query.Explanation) string {
	spans := found(nil, e)
	slices.SortFunc(spans, func(a, b [2]int) int { return cmp.Compare(a[0], b[0]) })
	var b strings.Builder
	at := 0
	for _, s := range spans {
		if s[0] < at { // inside of the one before
			continue
		}
		b.WriteString(clean(text[at:s[0]]))
		b.WriteString(l.paint(green, clean(text[s[0]:s[1]])))
		at = s[1]
	}
	b.WriteString(clean(text[at:]))
	return b.String()
}

// found lists where clauses that are met stand in the text.
func found(spans [][2]int, e query.Explanation) [][2]int {
	if e.Verdict == query.Yes && e.Found[1] > e.Found[0] {
		spans = append(spans, e.Found)
	}
	for _, part := range e.Parts {
		spans = found(spans, part)
	}
	return spans
}

// tree prints a post and what it answers to each clause.
func (l *lab) tree(t *fetcher.Tweet, e query.Explanation) {
	l.post(t, e)
	colours := map[query.Verdict]string{query.Yes: green, query.No: red, query.Unknown: yellow}
	for line := range strings.Lines(e.String()) {
		line = strings.TrimRight(line, "\n")
		verdict, rest, _ := strings.Cut(line, " ")
		fmt.Fprintf(l.out, "    %s %s\n", l.paint(colours[query.Verdict(verdict)], verdict), clean(rest))
	}
}

// sum prints how many posts the rule would have matched, and its cost.
func (l *lab) sum(tr *trial, interval time.Duration) {
	fmt.Fprintf(l.out, "\n%d of %d posts answer (%.1f %%)", tr.hits, tr.posts, 100*float64(tr.hits)/float64(max(tr.posts, 1)))
	if perDay := tr.perDay(); perDay > 0 {
		fmt.Fprintf(l.out, ", %.1f a day", perDay)
	}
	fmt.Fprintln(l.out)
	if tr.unknown > 0 {
		fmt.Fprintf(l.out, "%d more could not be decided from their records\n", tr.unknown)
	}
	fmt.Fprintf(l.out, "every %s it costs %d credits a day\n", interval, billing.Presets{}.Rule(interval).PerDay/billing.Credit)
}
