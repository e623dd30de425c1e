package enginehttp_test

import (
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/storage"
)

// slowBody is a body that comes when leave is closed; entered is closed when it is waited for.
type slowBody struct {
	io.Reader
	slowHook
	waited bool
}

func (b *slowBody) Read(p []byte) (int, error) {
	if !b.waited {
		b.waited = true
		close(b.entered)
		<-b.leave
	}
	return b.Reader.Read(p)
}

// A request that was let in before its owner was erased makes nothing afterwards, though the owner
// has credits again. An hour later all works again, with a new key.
func TestRequestsFromBeforeErase(t *testing.T) {
	for _, row := range []struct{ path, body string }{
		{monitors, `{"name":"late","usernames":["esa"]}`},
		{"/v1/social/stream/filter-rules", `{"tag":"late","query":"from:esa","interval_seconds":60}`},
		{"/v1/account/keys", `{"name":"late"}`},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			body := &slowBody{Reader: strings.NewReader(row.body), slowHook: slowHook{make(chan struct{}), make(chan struct{})}}
			got := make(chan answer, 1)
			go func() {
				r := request("POST", row.path, row.body)
				r.Body = io.NopCloser(body)
				r.Header.Set("X-Api-Key", w.key[mine])
				w.checked = false
				got <- w.send(r)
			}()
			<-body.entered
			if _, err := w.engine.Erase(t.Context(), mine); err != nil {
				t.Fatal(err)
			}
			back := billing.Entry{ID: "back", Owner: mine, Kind: billing.KindTopUp, Amount: funds}
			if err := w.store.Ports().Ledger.Append(t.Context(), back); err != nil {
				t.Fatal(err)
			}
			close(body.leave)
			if a := <-got; a.status != 409 || !strings.Contains(a.body, "erased") {
				t.Errorf("%d %s, want 409", a.status, a.body)
			}
			w.checked = true
			left, err := w.store.Ports().Sweeper.Sweep(t.Context(), mine)
			left.Changes = 0
			if err != nil || left != (storage.Erased{Entries: 1}) {
				t.Errorf("the store has of the owner %+v, %v, want the invoice alone", left, err)
			}
			<-time.After(time.Hour) // as long is an erased owner refused
			w.furnish(w.engine, mine, 0)
			if a := w.do(mine, "POST", row.path, row.body); a.status != 201 {
				t.Errorf("the owner has come back: %d %s", a.status, a.body)
			}
		})
	}
}
