package mastodon

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/streamwatch/streamwatch/fetcher"
)

// minimal is a post with an id, published at a second of 2026-03-01T12:00.
func minimal(id string, second int, more string) string {
	return fmt.Sprintf(`{"id": %q, "created_at": "2026-03-01T12:00:%02dZ"%s}`, id, second, more)
}

func TestDecodePageRefuses(t *testing.T) {
	tests := []struct{ name, body string }{
		{"nothing", ""},
		{"an HTML page", "<!DOCTYPE html><html><body>502 Bad Gateway</body></html>"},
		{"an error document", `{"error": "Record not found"}`},
		{"null", "null"},
		{"a text", `"posts"`},
		{"a list that is cut", `[` + minimal("1", 0, "") + `,`},
		{"a post that is cut", `[{"id": "1", "created`},
		{"a post with a syntax error", `[{"id": 1 1}]`},
		{"something after the list", `[] []`},
		{"more than ten pages' posts", "[" + strings.Repeat("0,", maxPosts) + "0]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := decodePage([]byte(tt.body), nil); !errors.Is(err, fetcher.ErrMalformed) {
				t.Errorf("error %v, want ErrMalformed", err)
			}
		})
	}
}

func TestDecodePage(t *testing.T) {
	const pinned = `, "pinned": true`
	tests := []struct {
		name    string
		body    []string
		seen    string // ids, comma-separated
		want    []string
		skipped int
		reach   int    // second, -1 for none
		lastID  string // "" for none
		pinned  []string
	}{
		{"empty", nil, "", nil, 0, -1, "", nil},
		{"in order", []string{minimal("c", 30, ""), minimal("b", 20, ""), minimal("a", 10, "")}, "", []string{"c", "b", "a"}, 0, 20, "a", nil},
		{"known posts are left out and counted", []string{minimal("c", 30, ""), minimal("b", 20, ""), minimal("a", 10, "")}, "b,a", []string{"c"}, 2, 20, "a", nil},
		{"all known", []string{minimal("c", 30, "")}, "c", nil, 1, 30, "c", nil},
		{"a broken post does not lose the others", []string{minimal("c", 30, ""), `17`, minimal("a", 10, "")}, "", []string{"c", "", "a"}, 0, 30, "a", nil},
		{"a post without an id at the end", []string{minimal("c", 30, ""), `{"created_at": "2026-03-01T12:00:10Z"}`}, "", []string{"c", ""}, 0, 30, "c", nil},
		{"a post without a time does not move the reach", []string{minimal("c", 30, ""), minimal("b", 20, ""), `{"id": "a"}`}, "", []string{"c", "b", "a"}, 0, 30, "a", nil},
		{"a pinned post in its place", []string{minimal("c", 30, pinned), minimal("b", 20, pinned), minimal("a", 10, "")}, "", []string{"c", "b", "a"}, 0, 20, "a", nil},
		{"a pinned post on top", []string{minimal("a", 10, pinned), minimal("c", 30, ""), minimal("b", 20, "")}, "", []string{"a", "c", "b"}, 0, 30, "b", []string{"a"}},
		{"a known pinned post on top", []string{minimal("a", 10, pinned), minimal("c", 30, "")}, "a", []string{"c"}, 1, 30, "c", nil},
		{"a pinned post further down", []string{minimal("c", 30, ""), minimal("a", 10, pinned), minimal("b", 20, "")}, "", []string{"c", "a", "b"}, 0, 20, "b", nil},
		{"a known post by the last of its ids", []string{`{"id": "b", "created_at": "2026-03-01T12:00:10Z", "id": "a"}`}, "a", nil, 1, 10, "a", nil},
		{"a new post by the last of its ids", []string{`{"id": "a", "created_at": "2026-03-01T12:00:10Z", "id": "b"}`}, "a", []string{"b"}, 0, 10, "b", nil},
		{"a known post with a number for an id", []string{`{"id": 114000000000000005, "created_at": "2026-03-01T12:00:10Z"}`}, "114000000000000005", nil, 1, 10, "114000000000000005", nil},
		{"a known post with escapes in its id", []string{`{"id": "\u0061\/", "created_at": "2026-03-01T12:00:10Z"}`}, "a/", nil, 1, 10, "a/", nil},
		{"pinned posts alone, out of order", []string{minimal("a", 10, pinned), minimal("c", 30, pinned)}, "", []string{"a", "c"}, 0, 30, "c", []string{"a"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			known := strings.Split(tt.seen, ",")
			p, err := decodePage([]byte("["+strings.Join(tt.body, ",")+"]"), func(id string) bool { return slices.Contains(known, id) })
			if err != nil {
				t.Fatal(err)
			}
			var ids, pins []string
			for _, tw := range p.tweets {
				ids = append(ids, tw.ID)
				if tw.Pinned {
					pins = append(pins, tw.ID)
				}
			}
			if !slices.Equal(ids, tt.want) || p.skipped != tt.skipped || p.lastID != tt.lastID || p.total != len(tt.body) {
				t.Errorf("ids %q, skipped %d, last %q, total %d; want %q, %d, %q, %d", ids, p.skipped, p.lastID, p.total, tt.want, tt.skipped, tt.lastID, len(tt.body))
			}
			if !slices.Equal(pins, tt.pinned) {
				t.Errorf("pinned %q, want %q", pins, tt.pinned)
			}
			reach := -1
			if at := p.reach.Time(); !at.IsZero() {
				reach = at.Second()
			}
			if reach != tt.reach {
				t.Errorf("reach at second %d, want %d", reach, tt.reach)
			}
		})
	}
}

// A known post takes no allocation but a share of that for its id.
func TestKnownPostsAreNotDecoded(t *testing.T) {
	body := []byte("[" + strings.Repeat(mastodonPost+",", maxPageSize-1) + mastodonPost + "]")
	got := math.Inf(1)
	for range 5 { // the least, as goroutines of other tests allocate, too
		got = min(got, testing.AllocsPerRun(20, func() {
			if p, err := decodePage(body, func(string) bool { return true }); err != nil || p.skipped != maxPageSize {
				t.Fatalf("skipped %d, error %v", p.skipped, err)
			}
		}))
	}
	if got > maxPageSize+1 {
		t.Errorf("%g allocations for %d known posts", got, maxPageSize)
	}
}

func TestNextCursor(t *testing.T) {
	next := func(url string) string { return "<" + url + `>; rel="next"` }
	const prev = `<https://h/api/v1/accounts/1/statuses?min_id=9>; rel="prev"`
	page := func(n int) posts { return posts{total: n, lastID: "5"} }
	tests := []struct {
		name   string
		link   []string
		posts  posts
		cursor string
		want   string
	}{
		{"the server's word", []string{next("https://h/api/v1/accounts/1/statuses?limit=40&max_id=4") + ", " + prev}, page(40), "", "4"},
		{"the server's word on a short page", []string{next("https://h/x?max_id=4")}, page(3), "", "4"},
		{"in two headers", []string{prev, next("https://h/x?max_id=4")}, page(40), "", "4"},
		{"another host behind a proxy", []string{next("http://127.0.0.1:3000/x?max_id=4")}, page(40), "", "4"},
		{"an address with commas and semicolons", []string{next("https://h/x?a=1,2;3&max_id=4")}, page(40), "", "4"},
		{"an escaped id", []string{next("https://h/x?max_id=a%2Fb")}, page(40), "", "a/b"},
		{"no quotes, other case", []string{"<https://h/x?max_id=4>; title=x; REL=Next"}, page(40), "", "4"},
		{"the last page, says the server", []string{prev}, page(3), "", ""},
		{"a full page is not the last, whatever the header lacks", []string{prev}, page(40), "", "5"},
		{"no header: the last id", nil, page(40), "", "5"},
		{"no header, short page: the last id", nil, page(1), "", "5"},
		{"a header about something else", []string{"</style.css>; rel=preload; as=style"}, page(1), "", "5"},
		{"a header that cannot be read", []string{"<", "<>", ">;rel=next", "<%zz>; rel=next"}, page(1), "", "5"},
		{"no max_id in it", []string{next("https://h/x?cursor=abc"), prev}, page(1), "", "5"},
		{"an empty page ends", []string{next("https://h/x?max_id=4")}, posts{}, "", ""},
		{"no post has an id", nil, posts{total: 2}, "", ""},
		{"the cursor that was asked for", []string{next("https://h/x?max_id=4")}, page(40), "4", ""},
		{"the last id was asked for", nil, page(40), "5", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := nextCursor(http.Header{"Link": tt.link}, tt.posts, 40, tt.cursor); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func FuzzDecodePage(f *testing.F) {
	for _, doc := range []string{mastodonPost, mastodonBoost, gotosocialPost, akkomaPost, numericPost, nullPost, oddPost, minimal("1", 0, `, "pinned": true`)} {
		f.Add([]byte("["+doc+"]"), `<https://h/x?max_id=4>; rel="next"`)
	}
	f.Add([]byte(`[`), `<`)
	f.Add([]byte(`{"error":"x"}`), `<a>;rel=next,<b>;rel=prev`)
	f.Fuzz(func(t *testing.T, body []byte, link string) {
		asked := 0
		p, err := decodePage(body, func(id string) bool {
			asked++
			if id == "" {
				t.Error("Seen was asked about no id")
			}
			return asked%2 == 0
		})
		if err != nil {
			if !errors.Is(err, fetcher.ErrMalformed) {
				t.Errorf("error %v is not ErrMalformed", err)
			}
			return
		}
		if p.total != p.skipped+len(p.tweets) || p.total > maxPosts {
			t.Errorf("%d posts of which %d skipped and %d decoded", p.total, p.skipped, len(p.tweets))
		}
		for i := range p.tweets {
			if tw := &p.tweets[i]; tw.ID == "" && !tw.PublishedAt.IsZero() {
				t.Error("a post without an id has a time")
			}
			p.tweets[i].AppendJSON(nil)
		}
		if next := nextCursor(http.Header{"Link": {link}}, p, 40, p.lastID); next == p.lastID && next != "" {
			t.Errorf("the next cursor is the one asked for: %q", next)
		}
	})
}
