package wshub_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"github.com/streamwatch/streamwatch/deliver/wshub"
)

func TestAuthentication(t *testing.T) {
	header := func(kv ...string) http.Header {
		h := http.Header{}
		for i := 0; i < len(kv); i += 2 {
			h.Set(kv[i], kv[i+1])
		}
		return h
	}
	rows := map[string]struct {
		header http.Header
		first  string
		want   []string
		code   websocket.StatusCode
		after  time.Duration
	}{
		"key in the header":          {header: header("x-api-key", "key-ann"), want: []string{"connected 0"}},
		"key in the first message":   {first: `{"type":"auth","api_key":"key-ann"}`, want: []string{"connected 0"}},
		"members it does not know":   {first: `{"v":2,"type":"auth","api_key":"key-ann"}`, want: []string{"connected 0"}},
		"wrong key in the header":    {header: header("x-api-key", "nonsense"), want: []string{"error 4001"}, code: 4001},
		"wrong key in the message":   {first: `{"type":"auth","api_key":"nonsense"}`, want: []string{"error 4001"}, code: 4001},
		"an empty key":               {first: `{"type":"auth","api_key":""}`, want: []string{"error 4001"}, code: 4001},
		"another first message":      {first: `{"type":"pong"}`, want: []string{"error 4001"}, code: 4001},
		"a first message of no JSON": {first: `key-ann`, want: []string{"error 4001"}, code: 4001},
		"no message for 5 s":         {want: []string{"error 4001"}, code: 4001, after: 5 * time.Second},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			inWorld(t, nil, func(t *testing.T, w *world) {
				start := time.Now()
				c, _, err := w.connect("", row.header)
				if err != nil {
					t.Fatal(err)
				}
				if row.first != "" {
					c.write(row.first)
				}
				if row.code == 0 {
					c.wants(row.want...)
					return
				}
				c.wantsEnd(row.code, row.want...)
				if took := time.Since(start); took != row.after {
					t.Errorf("closed after %s, want %s", took, row.after)
				}
				synctest.Wait()
				if st := w.hub.Stats(); st.Refused != 1 || st.Connections != 0 {
					t.Errorf("%+v", st)
				}
			})
		})
	}
}

func TestAuthenticationThatFailsIsNoBadKey(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		w.keys.err = errDown
		w.open("").wantsEnd(websocket.StatusTryAgainLater)
		if n := w.hub.Stats().Refused; n != 1 {
			t.Errorf("%d refused, want 1", n)
		}
	})
}

func TestConnectionsOfAKey(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		var open []*client
		for range 5 {
			c := w.open("")
			c.wants("connected 0")
			open = append(open, c)
		}
		w.open("").wantsRefusal(4003, "too many connections: the key has 5 of at most 5")
		w.openAs("bob", "").wants("connected 0")
		open[2].ws.CloseNow()
		synctest.Wait()
		w.open("").wants("connected 0")
		w.open("").wantsEnd(4003, "error 4003")
	})
}

func TestRevocation(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		a, b, c := w.open(""), w.open(""), w.openAs("bob", "")
		for _, c := range []*client{a, b, c} {
			c.wants("connected 0")
		}
		start := time.Now()
		w.keys.revoke("ann")
		w.hub.Revoke("id-ann")
		a.wantsEnd(4001, "error 4001")
		b.wantsEnd(4001, "error 4001")
		w.open("").wantsRefusal(4001, "key not valid")
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("took %s", took)
		}
		w.hub.Publish(w.store.commit(other))
		c.wants("tweet 1")
	})
}

// A key that somebody else revoked ends within 5 s, and one that cannot be
// checked does not.
func TestRevocationElsewhere(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		before := w.open("")
		before.wants("connected 0")
		before.ws.CloseNow()
		synctest.Wait() // it was the key's last
		a, c := w.open(""), w.openAs("bob", "")
		a.wants("connected 0")
		c.wants("connected 0")
		w.keys.fail(errors.New("store is away"))
		advance(10 * time.Second)
		w.hub.Publish(w.store.commit(alpha))
		a.wants("tweet 1")
		w.keys.fail(nil)
		start := time.Now()
		w.keys.revoke("ann")
		a.wantsEnd(4001, "error 4001")
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("took %s", took)
		}
		w.hub.Publish(w.store.commit(other))
		c.wants("tweet 1")
	})
}

func TestRevocationOfAClientThatDoesNotRead(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		w.open("").wants("connected 0")
		w.hub.Publish(w.store.commit(alpha)) // the write hangs
		synctest.Wait()
		w.hub.Revoke("id-ann")
		advance(2 * time.Second)
		if n := w.hub.Stats().Connections; n != 0 {
			t.Errorf("%d connections 2 s after the revocation", n)
		}
	})
}

func TestRevocationWhileAuthenticating(t *testing.T) {
	var w *world
	change := func(o *wshub.Options) {
		inner := o.Authenticate
		o.Authenticate = func(ctx context.Context, key wshubKey) (wshub.Identity, error) {
			id, err := inner(ctx, key)
			if err == nil && !w.keys.revoked["ann"] { // found valid, and revoked before that is known
				w.keys.revoke("ann")
				w.hub.Revoke("id-ann")
			}
			return id, err
		}
	}
	synctest.Test(t, func(t *testing.T) {
		w = newWorld(t, change)
		w.open("").wantsEnd(4001, "error 4001")
	})
}

// Connections without a key's id would be counted, and revoked, together with
// those of other owners.
func TestIdentityNeedsAKeyID(t *testing.T) {
	inWorld(t, func(o *wshub.Options) {
		o.Authenticate = func(_ context.Context, key wshubKey) (wshub.Identity, error) {
			return wshub.Identity{Owner: string(key)}, nil
		}
	}, func(t *testing.T, w *world) {
		w.open("").wantsEnd(websocket.StatusTryAgainLater)
	})
}
