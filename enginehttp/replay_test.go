package enginehttp_test

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
)

// post commits an event of the owner's monitor for each tweet id.
func (w *world) post(owner string, tweets ...string) (posted []deliver.Event) {
	w.Helper()
	src := deliver.Source{Kind: deliver.SourceMonitor, ID: w.ids[owner].Replace("{monitor}"), Owner: owner, Name: "space"}
	for _, id := range tweets {
		at := time.Now().UTC()
		ev := deliver.Event{ID: deliver.EventID(src.ID, id), Source: src, TweetID: id, AuthorUsername: "nasa", PublishedAt: at, DetectedAt: at,
			Body: fmt.Appendf(nil, `{"event":"tweet.detected","tweet_id":%q}`, id)}
		if err := w.store.Ports().Journal.Commit(w.Context(), []*detect.Batch{{Events: []deliver.Event{ev}}}); err != nil {
			w.Fatal(err)
		}
		posted = append(posted, ev)
	}
	return posted
}

// started calls do while the engine runs.
func (w *world) started(do func()) {
	w.Helper()
	if err := w.engine.Start(w.Context()); err != nil {
		w.Fatal(err)
	}
	do()
	if err := w.engine.Shutdown(w.Context()); err != nil {
		w.Error(err)
	}
}

func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// one makes the engine send an endpoint one delivery at a time.
func one(s *setup) { s.engine.Deliver.LaneInFlight = 1 }

// A webhook created with from gets the events committed since then, in order and once,
// with the delivery ids and bodies that it would have got at the time.
func TestWebhookFrom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, one)
		w.post(mine, "1", "2")
		pass(time.Minute)
		from := time.Now()
		posted := w.post(mine, "20", "19", "21")
		a := w.do(mine, "POST", webhooks, fmt.Sprintf(`{"monitor_id":"{monitor}","url":"https://hooks.example.com/late","from":%q}`, from.Format(time.RFC3339)))
		if a.status != 201 {
			t.Fatalf("%d %s", a.status, a.body)
		}
		id := a.decode(t)["id"].(string)
		progress := func() string {
			a := w.do(mine, "GET", webhooks+"/"+id+"/replay", "")
			v := a.decode(t)
			return fmt.Sprintf("%d %v, %v of %v, %v created", a.status, v["status"], v["position"], v["total"], v["created"])
		}
		if got, want := progress(), "200 running, 0 of 3, 0 created"; got != want {
			t.Errorf("at first the replay is %s, want %s", got, want)
		}
		w.started(func() { pass(time.Minute) })
		if got, want := progress(), "200 done, 3 of 3, 3 created"; got != want {
			t.Errorf("in the end the replay is %s, want %s", got, want)
		}
		var got, want []string
		for _, d := range w.hook.Deliveries() {
			if d.WebhookID == id {
				got = append(got, fmt.Sprintf("%s %x %d", d.ID, d.BodySHA256, d.Attempts))
			}
		}
		for _, ev := range posted {
			want = append(want, fmt.Sprintf("%s %x 1", deliver.DeliveryID(ev.ID, id), sha256.Sum256(ev.Body)))
		}
		if !slices.Equal(got, want) {
			t.Errorf("the webhook got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}

// While a replay runs, another range is refused; the same range returns that replay.
func TestReplayBesideAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		ask := func(body string) answer { return w.do(mine, "POST", webhooks+"/{webhook}/replay", body) }
		const all = `{"since":"1990-01-01T00:00:00Z"}`
		first := ask(all)
		if first.status != 202 || first.decode(t)["status"] != "running" {
			t.Fatalf("%d %s: want a replay that runs", first.status, first.body)
		}
		if again := ask(all); again.status != 202 || again.body != first.body {
			t.Errorf("the same range again: %d %s, want %s", again.status, again.body, first.body)
		}
		w.post(mine, "2000")
		pass(time.Second)
		other := `{"since":"1990-01-01T00:00:00Z","until":"` + time.Now().UTC().Format(time.RFC3339) + `"}`
		const want = "the webhook has a replay of another range that is running: wait until it is done"
		if a := ask(other); a.status != 409 || !strings.Contains(a.body, want) {
			t.Errorf("another range: %d %s, want 409 with %q", a.status, a.body, want)
		}
		w.started(func() { pass(time.Minute) })
		if a := ask(other); a.status != 202 {
			t.Errorf("another range when the first is done: %d %s", a.status, a.body)
		}
	})
}

// A replay is refused while the webhook is paused or disabled. One that runs waits
// until the webhook is resumed.
func TestReplayOfAWebhookThatDoesNotReceive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		const replay, since = webhooks + "/{webhook}/replay", `{"since":"1990-01-01T00:00:00Z"}`
		refused := func(why string) {
			t.Helper()
			if a := w.do(mine, "POST", replay, since); a.status != 422 || !strings.Contains(a.body, why) {
				t.Errorf("%d %s, want 422 with %q", a.status, a.body, why)
			}
		}
		paused := func(yes bool) {
			t.Helper()
			if a := w.do(mine, "PATCH", webhooks+"/{webhook}", fmt.Sprintf(`{"paused":%t}`, yes)); a.status != 200 {
				t.Fatalf("%d %s", a.status, a.body)
			}
		}
		paused(true)
		refused(`paused \"true\" is not allowed: want an endpoint that is not paused: resume it first`)
		if _, err := w.engine.Endpoints().Disable(t.Context(), mine, w.ids[mine].Replace("{webhook}"), "down"); err != nil {
			t.Fatal(err)
		}
		refused(`status \"disabled\" is not allowed: want an endpoint that is active: enable it first`)
		if a := w.do(mine, "POST", webhooks+"/{webhook}/enable", ""); a.status != 200 {
			t.Fatalf("%d %s", a.status, a.body)
		}

		posted := len(w.post(mine, "2000", "2001")) + 1 // with the one that had failed
		if a := w.do(mine, "POST", replay, since); a.status != 202 {
			t.Fatalf("%d %s", a.status, a.body)
		}
		paused(true)
		w.started(func() {
			pass(10 * time.Minute)
			if n := len(w.hook.Deliveries()); n > 0 {
				t.Errorf("a webhook that is paused got %d deliveries", n)
			}
			if a := w.do(mine, "GET", replay, ""); !strings.Contains(a.body, `"status":"running","waits_for":"the endpoint is paused"`) {
				t.Errorf("%s: want a replay that waits for the end of the pause", a.body)
			}
			paused(false)
			pass(10 * time.Minute)
		})
		if n := len(w.hook.Deliveries()); n != posted {
			t.Errorf("a webhook that was resumed got %d deliveries, want %d", n, posted)
		}
		if a := w.do(mine, "GET", replay, ""); !strings.Contains(a.body, `"status":"done"`) {
			t.Errorf("%s: want a replay that is done", a.body)
		}
	})
}
