package streamwatch_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/deliver/endpoints"
	"github.com/streamwatch/streamwatch/enginetest"
)

// What was kept for a webhook that was paused is sent when it is resumed, by all nodes,
// whichever was asked, and not when they would have looked again.
func TestResumedWebhookGetsAtOnceWhatWasKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFleetWorld(t, 10)
		nodes := w.start("a", "b")
		pass(10 * time.Second)
		w.watch(10, nodes[0])
		pass(10 * time.Second)
		post := func() {
			for _, a := range enginetest.AccountNames(10) {
				w.platform.Post(a, "a post")
			}
			pass(5 * time.Second)
		}
		post()
		list, err := nodes[0].Endpoints().List(t.Context(), "", "")
		if err != nil || len(list) != 1 {
			t.Fatalf("%d endpoints, %v", len(list), err)
		}
		pause := func(through *engine, on bool) {
			if _, err := through.Endpoints().Update(t.Context(), "", list[0].ID, endpoints.Update{Paused: &on}); err != nil {
				t.Fatal(err)
			}
		}
		pause(nodes[0], true)
		post()
		post()
		pause(nodes[1], false)
		pass(3 * time.Second)
		w.check()
		for _, n := range nodes {
			n.stop()
		}
	})
}
