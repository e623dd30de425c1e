package query_test

import (
	"slices"
	"testing"

	"github.com/streamwatch/streamwatch/rule/query"
)

// Tags, names and links in a text follow the rules published with twitter-text.
func TestExtraction(t *testing.T) {
	for _, row := range []struct {
		what string
		text string
		want []string
	}{
		{"hashtags", "#hashtag", []string{"hashtag"}},
		{"hashtags", "a #hashtag here", []string{"hashtag"}},
		{"hashtags", "#one #two, #three.", []string{"one", "two", "three"}},
		{"hashtags", "text#hashtag", nil},
		{"hashtags", "&#nbsp;", nil},
		{"hashtags", "#1", nil},
		{"hashtags", "#2016 #2016election", []string{"2016election"}},
		{"hashtags", "#1tag #tag1", []string{"1tag", "tag1"}},
		{"hashtags", "#under_score #_a", []string{"under_score", "_a"}},
		{"hashtags", "#hash-tag", []string{"hash"}},
		{"hashtags", "#ハッシュタグ #日本語", []string{"ハッシュタグ", "日本語"}},
		{"hashtags", "＃全角", []string{"全角"}},
		{"hashtags", "#éhashtag #mañana", []string{"éhashtag", "mañana"}},
		{"hashtags", "#سیاست\u200cمدار", []string{"سیاست\u200cمدار"}},
		{"hashtags", "#l·l", []string{"l·l"}},
		{"hashtags", "#a#b", nil},
		{"hashtags", "#http://x.org", nil},
		{"hashtags", "http://x.org/#anchor", nil},
		{"hashtags", "# tag #", nil},
		{"hashtags", "#\u20e3 #️⃣", nil},
		{"hashtags", "(#tag) \"#two\"", []string{"tag", "two"}},
		{"hashtags", "😀#tag", []string{"tag"}},
		{"hashtags", "日本語#tag", nil},

		{"mentions", "@username", []string{"username"}},
		{"mentions", "hi @username, and @other_1!", []string{"username", "other_1"}},
		{"mentions", "a@b.com", nil},
		{"mentions", "日本@username", []string{"username"}},
		{"mentions", "RT@username RT:@two", []string{"username", "two"}},
		{"mentions", "START@username", nil},
		{"mentions", "@@username", nil},
		{"mentions", "@user@host", nil},
		{"mentions", "@usérname", nil},
		{"mentions", "@http://x.org", nil},
		{"mentions", "＠username", []string{"username"}},
		{"mentions", "!@username #@username .@username", []string{"username"}},
		{"mentions", "@aaaaaaaaaaaaaaaaaaaaX", []string{"aaaaaaaaaaaaaaaaaaaa"}},
		{"mentions", "https://medium.com/@user", nil},
		{"mentions", "@", nil},

		{"cashtags", "$TWTR", []string{"TWTR"}},
		{"cashtags", "$AAPL, $GOOG. ($FB)", []string{"AAPL", "GOOG"}},
		{"cashtags", "$BRK.A $brk_b", []string{"BRK.A", "brk_b"}},
		{"cashtags", "$100 $1A", nil},
		{"cashtags", "$TOOLONGX", nil},
		{"cashtags", "a$TWTR $$TWTR", nil},
		{"cashtags", "$TWTR's", []string{"TWTR"}},
		{"cashtags", "$TWTR1 $TW_TR1", nil},

		{"links", "http://example.com", []string{"http://example.com"}},
		{"links", "see https://example.com/a?b=c&d=e#f now", []string{"https://example.com/a?b=c&d=e#f"}},
		{"links", "(http://example.com/a_(b))", []string{"http://example.com/a_(b)"}},
		{"links", "http://example.com/a. http://example.com/b, http://example.com!", []string{"http://example.com/a", "http://example.com/b", "http://example.com"}},
		{"links", "example.com www.example.org/x", []string{"example.com", "www.example.org/x"}},
		{"links", "bbc.co.uk t.co/abc", []string{"bbc.co.uk", "t.co/abc"}},
		{"links", "the end.so it goes. e.g. this", nil},
		{"links", "user@example.com @example.com", nil},
		{"links", "HTTPS://EXAMPLE.COM/A", []string{"HTTPS://EXAMPLE.COM/A"}},
		{"links", "http://example.com:8080/x", []string{"http://example.com:8080/x"}},
		{"links", "http://exämple.com/ü", []string{"http://exämple.com/ü"}},
		{"links", "http://localhost http:// http://x", nil},
		{"links", "日本http://example.com/日本", []string{"http://example.com/日本"}},
		{"links", "1.5 3.com -example.com", []string{"3.com"}},
	} {
		extract := map[string]func(string) []string{"hashtags": query.Hashtags, "mentions": query.Mentions, "cashtags": query.Cashtags, "links": query.Links}[row.what]
		if got := extract(row.text); !slices.Equal(got, row.want) {
			t.Errorf("%s of %q: %q, want %q", row.what, row.text, got, row.want)
		}
	}
}
