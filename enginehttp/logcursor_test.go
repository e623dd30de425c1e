package enginehttp_test

import (
	"net/url"
	"strings"
	"testing"
)

// turned reads a log page by page, and calls between after each page but the last.
func turned(t *testing.T, w *world, path, field string, between func()) string {
	t.Helper()
	var pages []string
	for cursor := ""; len(pages) < 20; {
		a := w.do(mine, "GET", social+path+"&cursor="+url.QueryEscape(cursor), "")
		pages = append(pages, shown(t, a, field))
		v := a.decode(t)
		if behind := cursor != ""; behind != (v["page"] == nil) || behind != (v["offset"] == nil) || v["limit"] == nil {
			t.Errorf("%s: page %v, offset %v, limit %v with the cursor %q", path, v["page"], v["offset"], v["limit"], cursor)
		}
		if cursor = v["next_cursor"].(string); cursor == "" {
			break
		}
		between()
	}
	return strings.Join(pages, " | ")
}

// Records that arrive between two pages neither repeat nor hide others.
func TestLogsByCursor(t *testing.T) {
	for path, field := range logPaths {
		w := newWorld(t)
		withOldLogs(t, w, 1, 2, 3, 4, 5)
		next := 5
		arrive := func() {
			next++
			withOldLogs(t, w, next)
		}
		if got, want := turned(t, w, strings.Replace(path, "asc", "desc", 1)+"&page_size=2", field, arrive), "5 4 | 3 2 | 1"; got != want {
			t.Errorf("%s, newest first: %s, want %s", path, got, want)
		}
		if got, want := turned(t, w, path+"&limit=3&until=2020-01-01T12:00:06Z", field, arrive), "1 2 3 | 4 5"; got != want {
			t.Errorf("%s, oldest first: %s, want %s", path, got, want)
		}
		if got, want := turned(t, w, path+"&limit=6&until=2020-01-01T12:00:07Z", field, arrive), "1 2 3 4 5 6"; got != want {
			t.Errorf("%s, a full page: %s, want %s", path, got, want)
		}
	}
}

// A part of a log that begins within a page has a cursor for what follows it.
func TestLogsByOffsetThenCursor(t *testing.T) {
	w := newWorld(t)
	withOldLogs(t, w, 1, 2, 3, 4, 5, 6)
	for path, field := range logPaths {
		a := w.do(mine, "GET", social+path+"&until=2020-01-01T12:00:09Z&limit=2&offset=1", "")
		if got := shown(t, a, field); got != "2 3" {
			t.Errorf("%s: %s, want 2 3", path, got)
		}
		next := a.decode(t)["next_cursor"].(string)
		a = w.do(mine, "GET", social+path+"&until=2020-01-01T12:00:09Z&limit=9&cursor="+next, "")
		if got := shown(t, a, field); got != "4 5 6" {
			t.Errorf("%s behind it: %s, want 4 5 6", path, got)
		}
	}
}

// A cursor is valid only for the parameters and the owner that it was made for.
func TestLogCursorOfAnotherQuestion(t *testing.T) {
	w := newWorld(t)
	withOldLogs(t, w, 1, 2, 3)
	for path := range logPaths {
		first := w.do(mine, "GET", social+path+"&page_size=1", "")
		next := first.decode(t)["next_cursor"].(string)
		if next == "" {
			t.Fatalf("%s: no next_cursor", path)
		}
		for other, want := range map[string]string{
			path + "&page_size=2":                        "",
			path + "&since=2020-01-01T00:00:00Z":         "the same question",
			path + "&until=2020-01-02T00:00:00Z":         "the same question",
			strings.Replace(path, "asc", "desc", 1):      "the same question",
			path + "&page=2":                             "either page or cursor, not both",
			path + "&offset=2":                           "either offset or cursor, not both",
			"/stream/logs?sort=asc&author_username=nasa": "the same question",
			"/stream/logs?sort=asc&webhook_id=nasa":      "the same question",
		} {
			a := w.do(mine, "GET", social+other+"&cursor="+next, "")
			if want == "" && a.status != 200 || want != "" && (a.status != 422 || !strings.Contains(a.body, want)) {
				t.Errorf("the cursor of %s at %s: %d %s, want %q", path, other, a.status, a.body, want)
			}
		}
		if strings.Contains(path, "{rule}") {
			continue // theirs is another rule
		}
		if a := w.do(theirs, "GET", social+path+"&cursor="+next, ""); a.status != 422 || !strings.Contains(a.body, "the same question") {
			t.Errorf("the cursor of %s for another owner: %d %s", path, a.status, a.body)
		}
	}
	first := w.do(mine, "GET", social+"/stream/logs?delivery_status=pending&page_size=1", "")
	next := first.decode(t)["next_cursor"].(string)
	if a := w.do(mine, "GET", social+"/stream/logs?author_username=pending&cursor="+next, ""); next == "" || a.status != 422 {
		t.Errorf("the cursor %q for another parameter of the same value: %d %s", next, a.status, a.body)
	}
}
