package enginehttp_test

import (
	"strings"
	"testing"
)

func (w *world) ifMatch(etag, method, path, body string) answer {
	w.Helper()
	r := request(method, w.ids[mine].Replace(path), w.ids[mine].Replace(body))
	r.Header.Set("X-Api-Key", w.key[mine])
	r.Header.Set("If-Match", etag)
	return w.send(r)
}

// A webhook that is read has the ETag of its changes.
func TestETagOfAWebhook(t *testing.T) {
	w, path := newWorld(t), webhooks+"/{webhook}"
	first := w.do(mine, "GET", path, "")
	if a := w.ifMatch(first.header.Get("ETag"), "PATCH", path, `{"paused":true}`); a.status != 200 || a.header.Get("ETag") == first.header.Get("ETag") {
		t.Errorf("%d %s, ETag %s after %s", a.status, a.body, a.header.Get("ETag"), first.header.Get("ETag"))
	}
	if a := w.ifMatch(first.header.Get("ETag"), "PATCH", path, `{"paused":false}`); a.status != 412 {
		t.Errorf("by the old ETag: %d", a.status)
	}
	if a := w.do(mine, "GET", path, ""); !strings.Contains(a.body, `"status":"paused"`) || strings.Contains(a.body, hookSecret) || w.ifMatch(a.header.Get("ETag"), "DELETE", path, "").status != 204 {
		t.Errorf("by the new ETag: %s", a.body)
	}
	if a := w.do(mine, "GET", path, ""); a.status != 404 {
		t.Errorf("deleted: %d", a.status)
	}
}

// A record has an ETag, which every change changes. With another one in If-Match, the
// record is neither changed nor deleted: 412, which costs nothing.
func TestIfMatch(t *testing.T) {
	for path, change := range map[string]struct{ body, field string }{
		monitors + "/{monitor}": {`{"name":"mine"}`, `"name":"mine"`},
		rules + "/{rule}":       {`{"tag":"mine"}`, `"tag":"mine"`},
	} {
		w := newWorld(t)
		first := w.do(mine, "GET", path, "").header.Get("ETag")
		if again := w.do(mine, "GET", path, "").header.Get("ETag"); first == "" || again != first {
			t.Fatalf("%s: ETag %q, then %q", path, first, again)
		}
		other := w.do(mine, "PATCH", path, `{"status":"paused"}`)
		second := other.header.Get("ETag")
		if second == first || second != w.do(mine, "GET", path, "").header.Get("ETag") {
			t.Errorf("%s: ETag %q after a change of %q", path, second, first)
		}
		before, charged := w.spent(mine)
		for _, etag := range []string{first, "W/" + second, strings.Trim(second, `"`), `"nonsense"`, `"0"`, `"-1"`, `"+2"`} {
			for method, body := range map[string]string{"PATCH": change.body, "DELETE": ""} {
				a := w.ifMatch(etag, method, path, body)
				if a.status != 412 || !strings.Contains(a.body, "If-Match is not the ETag of the record as it is: read it again") {
					t.Errorf("%s %s with %s: %d %s", method, path, etag, a.status, a.body)
				}
			}
		}
		if a := w.ifMatch(first+", "+second, "PATCH", path, change.body); a.status != 422 || !strings.Contains(a.body, "want the ETag of the record, or *") {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
		if spent, n := w.spent(mine); spent != before || n != charged {
			t.Errorf("%s: charged for a 412", path)
		}
		if a := w.do(mine, "GET", path, ""); strings.Contains(a.body, change.field) || a.header.Get("ETag") != second {
			t.Errorf("%s was changed: %s", path, a.body)
		}
		a := w.ifMatch(second, "PATCH", path, change.body)
		if a.status != 200 || !strings.Contains(a.body, change.field) {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
		if a := w.ifMatch("*", "PATCH", path, `{"status":"active"}`); a.status != 200 {
			t.Errorf("*: %d %s", a.status, a.body)
		}
		etag := w.do(mine, "GET", path, "").header.Get("ETag")
		if a := w.ifMatch(etag, "DELETE", path, ""); a.status != 204 {
			t.Errorf("DELETE %s: %d %s", path, a.status, a.body)
		}
		if a := w.ifMatch(etag, "DELETE", path, ""); a.status != 404 {
			t.Errorf("DELETE %s again: %d %s", path, a.status, a.body)
		}
	}
}

// Of two concurrent changes with the same ETag one is made.
func TestIfMatchOfTwo(t *testing.T) {
	for range 20 {
		w := newWorld(t)
		w.checked = false
		for _, row := range []struct{ path, a, b string }{
			{monitors + "/{monitor}", `{"name":"a"}`, `{"name":"b"}`}, {rules + "/{rule}", `{"tag":"a"}`, `{"tag":"b"}`},
		} {
			etag := w.do(mine, "GET", row.path, "").header.Get("ETag")
			got := make(chan int, 2)
			for _, body := range []string{row.a, row.b} {
				go func() { got <- w.ifMatch(etag, "PATCH", row.path, body).status }()
			}
			if a, b := <-got, <-got; a+b != 200+412 {
				t.Fatalf("%s: %d and %d, want one 200 and one 412", row.path, a, b)
			}
		}
	}
}

// Creating a webhook, changing it and rotating its secret answer with an ETag. With
// another one in If-Match it is neither changed nor deleted.
func TestIfMatchOfAWebhook(t *testing.T) {
	w := newWorld(t)
	first := w.do(mine, "POST", webhooks+"/{webhook}/rotate", "").header.Get("ETag")
	second := w.do(mine, "POST", webhooks+"/{webhook}/rotate", "").header.Get("ETag")
	if first == "" || first == second {
		t.Errorf("ETag %q, then %q", first, second)
	}
	if a := w.ifMatch(first, "PATCH", webhooks+"/{webhook}", `{"paused":true}`); a.status != 412 {
		t.Errorf("%d %s", a.status, a.body)
	}
	a := w.ifMatch(second, "PATCH", webhooks+"/{webhook}", `{"paused":true}`)
	if a.status != 200 || a.header.Get("ETag") == second {
		t.Errorf("%d %v %s", a.status, a.header, a.body)
	}
	second = a.header.Get("ETag")
	if a := w.ifMatch(first, "DELETE", webhooks+"/{webhook}", ""); a.status != 412 {
		t.Errorf("%d %s", a.status, a.body)
	}
	if a := w.ifMatch(second, "DELETE", webhooks+"/{webhook}", ""); a.status != 204 {
		t.Errorf("%d %s", a.status, a.body)
	}
	if a := w.do(mine, "POST", webhooks, `{"monitor_id":"{monitor}","url":"https://hooks.example.com/two"}`); a.header.Get("ETag") == "" {
		t.Errorf("a new webhook has no ETag: %v", a.header)
	}
}
