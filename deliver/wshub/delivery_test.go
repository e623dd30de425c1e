package wshub_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/wshub"
)

func delivery(ev deliver.Event) *deliver.Delivery {
	return &deliver.Delivery{ID: "dlv", EndpointID: deliver.HandlerEndpoint(ev.Handlers[0]), Event: &ev}
}

// sendFor is an attempt of the dispatcher, which gives it 10 s.
func sendFor(hub *wshub.Hub, ev deliver.Event) deliver.Result {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return hub.Send(ctx, delivery(ev))
}

func TestHandlerIsNamedWhileAClientWaits(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		asked := func(src deliver.Source, want bool) {
			t.Helper()
			name, ok := w.hub.Handler(src)
			if ok != want || ok && !wshub.IsDelivery(deliver.HandlerEndpoint(name)) {
				t.Errorf("%s: %q %v, want %v", src.ID, name, ok, want)
			}
		}
		asked(alpha, false)
		c := w.open("monitor_id=mon_a")
		c.wants("connected 0")
		asked(alpha, true)
		asked(beta, false)
		asked(gamma, false)
		asked(other, false)
		c.ws.CloseNow()
		synctest.Wait()
		asked(alpha, false)
	})
	for id, want := range map[string]bool{"handler:websocket/ann": true, "handler:websocket/": true, "handler:default": false, "ep_1": false, "websocket/ann": false} {
		if got := wshub.IsDelivery(id); got != want {
			t.Errorf("%s: %v", id, got)
		}
	}
}

func TestOutcomeOfADelivery(t *testing.T) {
	ok := deliver.Result{OK: true}
	nobody := deliver.Result{Permanent: true, Error: "no client connected"}
	rows := map[string]struct {
		do    func(w *world, c *client) deliver.Event // until Send is called
		while func(w *world, c *client)               // while it waits
		want  deliver.Result
		after time.Duration
	}{
		"written before it is asked": {
			do: func(w *world, c *client) deliver.Event {
				ev, _ := w.store.commitFor(w.hub, alpha)
				w.hub.Publish([]deliver.Event{ev})
				c.wants("tweet 1")
				return ev
			}, want: ok},
		"written, and the client has left": {
			do: func(w *world, c *client) deliver.Event {
				ev, _ := w.store.commitFor(w.hub, alpha)
				w.hub.Publish([]deliver.Event{ev})
				c.wants("tweet 1")
				c.ws.CloseNow()
				synctest.Wait()
				return ev
			}, want: ok},
		"asked before it is announced": {
			do: func(w *world, c *client) deliver.Event {
				ev, _ := w.store.commitFor(w.hub, alpha)
				return ev
			},
			while: func(w *world, c *client) {
				w.hub.Publish(w.store.events["ann"])
				c.wants("tweet 1")
			}, want: ok},
		"written while it waits": {
			do: func(w *world, c *client) deliver.Event {
				ev, _ := w.store.commitFor(w.hub, alpha)
				w.hub.Publish([]deliver.Event{ev})
				synctest.Wait()
				return ev
			},
			while: func(w *world, c *client) { c.wants("tweet 1") }, want: ok},
		"the client left before": {
			do: func(w *world, c *client) deliver.Event {
				ev, _ := w.store.commitFor(w.hub, alpha)
				c.ws.CloseNow()
				synctest.Wait()
				w.hub.Publish([]deliver.Event{ev})
				return ev
			}, want: nobody},
		"the client leaves meanwhile": {
			do: func(w *world, c *client) deliver.Event {
				ev, _ := w.store.commitFor(w.hub, alpha)
				w.hub.Publish([]deliver.Event{ev})
				return ev
			},
			while: func(w *world, c *client) { c.ws.CloseNow() }, want: nobody},
		"the client does not read": {
			do: func(w *world, c *client) deliver.Event {
				ev, _ := w.store.commitFor(w.hub, alpha)
				w.hub.Publish([]deliver.Event{ev})
				synctest.Wait()
				return ev
			}, want: nobody, after: 5 * time.Second},
		"another client got it": {
			do: func(w *world, c *client) deliver.Event {
				d := w.open("")
				d.wants("connected 0")
				ev, _ := w.store.commitFor(w.hub, alpha)
				w.hub.Publish([]deliver.Event{ev})
				d.wants("tweet 1")
				return ev
			}, want: ok},
		"replayed to a client that came back": {
			do: func(w *world, c *client) deliver.Event {
				ev, _ := w.store.commitFor(w.hub, alpha)
				c.ws.CloseNow()
				synctest.Wait()
				w.open("since=0").wants("connected 0", "tweet 1")
				return ev
			}, want: ok},
		"a client that came later does not count": {
			do: func(w *world, c *client) deliver.Event {
				ev, _ := w.store.commitFor(w.hub, alpha)
				c.ws.CloseNow()
				synctest.Wait()
				w.open("").wants("connected 1")
				return ev
			}, want: nobody},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			inWorld(t, nil, func(t *testing.T, w *world) {
				c := w.open("")
				c.wants("connected 0")
				ev := row.do(w, c)
				if len(ev.Handlers) != 1 {
					t.Fatal("no handler was named")
				}
				start := time.Now()
				result := make(chan deliver.Result)
				go func() { result <- sendFor(w.hub, ev) }()
				synctest.Wait()
				if row.while != nil {
					select {
					case r := <-result:
						t.Fatalf("at once: %+v", r)
					default:
					}
					row.while(w, c)
				}
				if got := <-result; got != row.want {
					t.Errorf("%+v, want %+v", got, row.want)
				}
				if took := time.Since(start); took != row.after {
					t.Errorf("after %s, want %s", took, row.after)
				}
			})
		})
	}
}

func TestOutcomeThatTakesTooLong(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		c := w.open("")
		c.wants("connected 0")
		ev, _ := w.store.commitFor(w.hub, alpha)
		// Neither announced nor read yet: the client may still get it.
		if r := sendFor(w.hub, ev); r.OK || r.Permanent || r.Error == "" {
			t.Errorf("%+v", r)
		}
		c.wants("tweet 1")
		if r := sendFor(w.hub, ev); !r.OK {
			t.Errorf("at the second attempt %+v", r)
		}
	})
}
