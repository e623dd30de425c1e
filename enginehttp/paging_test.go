package enginehttp_test

import (
	"fmt"
	"strings"
	"testing"
)

// Every route refuses a parameter that it does not know, with those that it does, and
// charges nothing: if a misspelt filter were ignored, everything would be found.
func TestUnknownParametersAreRefused(t *testing.T) {
	w := newWorld(t)
	for _, e := range endpoints {
		path, sep := e.path, "?"
		if strings.Contains(path, "?") {
			sep = "&"
		}
		a := w.do(mine, e.method(), path+sep+"pgae=2", e.body)
		if a.status != 422 || !strings.Contains(a.body, `query parameter \"pgae\" is not allowed: want none`) {
			t.Errorf("%s: %d %s", e.pattern, a.status, a.body)
		}
	}
	a := w.do(mine, "GET", monitors+"?pgae=2", "")
	if !strings.Contains(a.body, `want none but status, page, page_size, limit, offset`) {
		t.Errorf("%s: want what is allowed", a.body)
	}
	if a := w.do(mine, "GET", social+"/stream?since_seq=2", ""); a.status != 422 || !strings.Contains(a.body, "want none but monitor_id, rule_id, since") {
		t.Errorf("WebSocket: %d %s", a.status, a.body)
	}
	if a := w.do(mine, "GET", social+"/stream?since=1&since=2", ""); a.status != 400 || !strings.Contains(a.body, "since is there twice") {
		t.Errorf("WebSocket, since twice: %d %s", a.status, a.body)
	}
	if a := w.do(mine, "GET", monitors+"?status=paused&status=active", ""); a.status != 400 || !strings.Contains(a.body, "status is there twice") {
		t.Errorf("twice: %d %s", a.status, a.body)
	}
	if spent, n := w.spent(mine); spent != 0 || n != 0 {
		t.Errorf("charged %d", spent)
	}
}

// Every list takes limit and offset in place of page and page_size. Its answer has all
// four, and the same records for either.
func TestLimitAndOffset(t *testing.T) {
	w := newWorld(t)
	for i := range 4 { // five with the world's
		name := fmt.Sprint("n", i)
		for path, body := range map[string]string{
			monitors: `{"name":"` + name + `","usernames":["esa"]}`,
			rules:    `{"tag":"` + name + `","query":"` + name + `","interval_seconds":60}`,
			webhooks: `{"monitor_id":"{monitor}","url":"https://hooks.example.com/` + name + `"}`,
		} {
			if a := w.do(mine, "POST", path, body); a.status != 201 {
				t.Fatalf("%d %s", a.status, a.body)
			}
		}
	}
	for path, items := range map[string]string{
		monitors: "monitors", rules: "rules", webhooks: "webhooks", social + "/stream/billing-logs?sort=asc": "logs",
	} {
		sep := "?"
		if strings.Contains(path, "?") {
			sep = "&"
		}
		ids := func(query string) (list []string, answer map[string]any) {
			a := w.do(mine, "GET", path+sep+query, "")
			if a.status != 200 {
				t.Fatalf("%s%s%s: %d %s", path, sep, query, a.status, a.body)
			}
			answer = a.decode(t)
			for _, item := range answer[items].([]any) {
				list = append(list, item.(map[string]any)["id"].(string))
			}
			return list, answer
		}
		all, _ := ids("limit=100")
		if len(all) < 5 {
			t.Fatalf("%s: %d records, want 5", path, len(all))
		}
		for _, row := range []struct {
			query       string
			from, to    int
			page, limit float64
		}{
			{"limit=2", 0, 2, 1, 2},
			{"limit=2&offset=2", 2, 4, 2, 2},
			{"limit=3&offset=1", 1, 4, 1, 3},
			{"limit=2&offset=3", 3, 5, 2, 2},
			{"page_size=3&offset=2", 2, 5, 1, 3},
			{"limit=2&page=2", 2, 4, 2, 2},
			{"page=3&page_size=1", 2, 3, 3, 1},
		} {
			got, answer := ids(row.query)
			if want := all[row.from:row.to]; fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s %s: %q, want %q", path, row.query, got, want)
			}
			if answer["page"] != row.page || answer["page_size"] != row.limit || answer["limit"] != row.limit || answer["offset"] != float64(row.from) ||
				answer["total"].(float64) < float64(len(all)) {
				t.Errorf("%s %s: %v", path, row.query, answer)
			}
		}
		if got, _ := ids("limit=2&offset=999"); len(got) != 0 {
			t.Errorf("%s beyond the last: %q", path, got)
		}
	}
	if a := w.do(mine, "GET", webhooks, ""); strings.Contains(a.body, `"page"`) || !strings.Contains(a.body, `"total":5`) {
		t.Errorf("%s: want all webhooks", a.body)
	}
}

// rule_id selects the webhooks and log entries of a rule, as monitor_id does those of
// a monitor, and webhook_id the log entries of a webhook.
func TestRuleIDSelects(t *testing.T) {
	w := newWorld(t)
	if a := w.do(mine, "POST", webhooks, `{"rule_id":"{rule}","url":"https://hooks.example.com/rule"}`); a.status != 201 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	for path, want := range map[string]string{
		webhooks + "?rule_id={rule}":                         `"url":"https://hooks.example.com/rule"`,
		webhooks + "?rule_id={monitor}":                      `"total":0`,
		webhooks + "?monitor_id={rule}":                      `"total":0`,
		social + "/stream/logs?rule_id={rule}":               `"total":0`,
		social + "/stream/logs?rule_id={monitor}":            `"total":0`,
		social + "/stream/logs?monitor_id={monitor}":         `"total":1`,
		social + "/stream/logs?webhook_id={webhook}":         `"webhook_id":"{webhook}"`,
		social + "/stream/logs?webhook_id={monitor}":         `"total":0`,
		social + "/stream/billing-logs?rule_id={rule}":       `"total":0`,
		social + "/stream/billing-logs?monitor_id={monitor}": `"total":0`,
	} {
		if a := w.do(mine, "GET", path, ""); a.status != 200 || !strings.Contains(a.body, w.ids[mine].Replace(want)) {
			t.Errorf("%s: %d %s, want %s", path, a.status, a.body, want)
		}
	}
}
