package feed_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// An item that cannot be read hides no other: what appears beside it is new, from the second
// read on. When it can be read, it is an entry that was there.
func TestBrokenItemHidesNoOther(t *testing.T) {
	for name, document := range map[string]func(broken bool, guids ...string) string{
		"RSS": func(broken bool, guids ...string) string {
			inside := ""
			if broken { // it is nested too deep
				inside = strings.Repeat("<x:a>", 1000) + strings.Repeat("</x:a>", 1000)
			}
			text := "<rss><channel><title>A feed</title>"
			for _, g := range guids {
				text += "<item><guid>" + g + "</guid><title>" + g + "</title></item>"
			}
			return text + "<item><guid>b</guid><title>b</title>" + inside + "</item></channel></rss>"
		},
		"JSON Feed": func(broken bool, guids ...string) string {
			title := `"b"`
			if broken { // it is of another type
				title = "5"
			}
			text := `{"version":"https://jsonfeed.org/version/1.1","title":"A feed","items":[`
			for _, g := range guids {
				text += `{"id":"` + g + `","title":"` + g + `"},`
			}
			return text + `{"id":"b","title":` + title + `}]}`
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				guids := []string{"a"}
				body := document(true, guids...)
				f, _ := serving(t, nil, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, body) })
				r := newReader(t, f)
				if page := r.read(); len(page.Tweets) != 1 || page.Tweets[0].PublishedAt.Unix() != 0 {
					t.Fatalf("%+v, want one entry, from before", page)
				}
				for _, g := range []string{"c", "d", "e", "f"} {
					<-time.After(time.Hour)
					guids = append([]string{g}, guids...)
					body = document(true, guids...)
					page := r.read()
					if len(page.Tweets) != 1 || page.Tweets[0].Text != g || !page.Tweets[0].PublishedAt.Equal(time.Now().Truncate(time.Millisecond)) {
						t.Errorf("%+v, want %s, published now", page, g)
					}
				}
				<-time.After(time.Hour)
				body = document(false, guids...)
				if page := r.read(); len(page.Tweets) != 1 || page.Tweets[0].Text != "b" || page.Tweets[0].PublishedAt.Unix() != 0 {
					t.Errorf("%+v, want the mended item, from before", page)
				}
			})
		})
	}
}
