package poll

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/rule/query"
)

func parse(t *testing.T, text string) *query.Program {
	t.Helper()
	p, _, err := query.Parse(text, query.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func source(id string) *Source {
	return &Source{Source: deliver.Source{Kind: deliver.SourceRule, ID: id}}
}

var words = strings.Fields("moon mars launch orbit crew rover probe delay")

// An index of many sources says of each what asking it alone says, whatever
// sources come, go and change their queries in between.
func TestIndexSaysWhatEachSourceSays(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	word := func() string { return words[rng.IntN(len(words))] }
	random := func() *query.Program {
		switch rng.IntN(4) {
		case 0:
			return parse(t, word())
		case 1:
			return parse(t, word()+" -"+word())
		case 2:
			return parse(t, word()+" OR "+word())
		}
		return nil
	}
	x := NewIndex()
	programs := map[*Source]*query.Program{}
	var all []*Source
	for i := range 30 {
		src := source(fmt.Sprint(i))
		if i%3 == 0 {
			src.Match = func(tw *fetcher.Tweet) bool { return strings.Contains(tw.Text, "crew") }
		}
		all = append(all, src)
	}
	wanted := 0
	for range 500 {
		src := all[rng.IntN(len(all))]
		programs[src] = random()
		x.Follow(src, programs[src])
		with := 0
		for _, p := range programs {
			if p != nil {
				with++
			}
		}
		if x.Len() != with {
			t.Fatalf("%d programs, want %d", x.Len(), with)
		}
		asker := x.Asker()
		for range 3 { // posts of one poll
			tw := &fetcher.Tweet{Text: word() + " " + word() + " " + word()}
			for _, src := range all {
				want := src.Match == nil || src.Match(tw)
				if p := programs[src]; p != nil {
					want = p.Match(tw)
				}
				if got := asker.Wants(src, tw); got != want {
					t.Fatalf("source %s wants %q: %t, want %t", src.ID, tw.Text, got, want)
				}
				if want {
					wanted++
				}
			}
		}
	}
	if wanted < 1000 {
		t.Errorf("only %d posts were wanted: this says little", wanted)
	}
}

func TestQueryChanged(t *testing.T) {
	for _, row := range []struct {
		had, gets string
		want      bool
	}{
		{"", "moon", false}, // a function decided before
		{"moon", "", false},
		{"moon", "moon", false},
		{"moon  mars", "moon mars", false}, // the same query, written differently
		{"moon", "mars", true},
	} {
		x, src := NewIndex(), source("r")
		if row.had != "" {
			x.Follow(src, parse(t, row.had))
		}
		var p *query.Program
		if row.gets != "" {
			p = parse(t, row.gets)
		}
		if got := src.QueryChanged(p); got != row.want {
			t.Errorf("from %q to %q: changed %t, want %t", row.had, row.gets, got, row.want)
		}
	}
}
