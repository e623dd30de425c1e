package query_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/streamwatch/streamwatch/rule/query"
)

func TestAuthors(t *testing.T) {
	for _, row := range []struct{ query, want string }{
		{"from:NASA", "[nasa]"},
		{"from:nasa rocket -is:retweet", "[nasa]"},
		{"(from:nasa OR from:esa) moon", "[esa nasa]"},
		{"from:nasa OR (from:esa has:images) OR from:nasa", "[esa nasa]"},
		{"(from:a OR from:b) from:c", "[c]"},
		{"from:nasa OR moon", "[]"}, // others' posts, too
		{"moon -from:nasa", "[]"},
		{"from:11348282", "[]"},                        // the handle of an id is not known
		{"from:nasa min_likes:10", "[]"},               // a new post has none yet
		{"from:nasa bounding_box:[1 2 1.1 2.1]", "[]"}, // only the platform knows
		{"from:nasa bio:space", "[]"},
		{"to:nasa", "[]"},
		{strings.TrimPrefix(strings.Repeat(" OR from:a", 65), " OR "), "[]"}, // too many
	} {
		p, _, err := query.Parse(row.query, query.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(p.Authors()); got != row.want {
			t.Errorf("%s: authors %s, want %s", row.query, got, row.want)
		}
	}
}
