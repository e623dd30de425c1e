package wshub_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/deliver/wshub"
)

// identities says whose keys are: one that is not there is not valid.
type identities struct {
	mu   sync.Mutex
	of   map[wshubKey]wshub.Identity
	hold chan struct{} // the next answer is given when it is closed
}

func (s *identities) authenticate(ctx context.Context, key wshubKey) (wshub.Identity, error) {
	s.mu.Lock()
	id, ok := s.of[key]
	hold := s.hold
	s.hold = nil
	s.mu.Unlock()
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
		}
	}
	if !ok {
		return id, wshub.ErrBadKey
	}
	return id, nil
}

func (s *identities) set(key wshubKey, id wshub.Identity) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of[key] = id
}

func (s *identities) remove(key wshubKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.of, key)
}

func (s *identities) holdNext() (let func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	hold := make(chan struct{})
	s.hold = hold
	return func() { close(hold) }
}

// inIdentities is inWorld with the keys "key-1" and "key-2", which are two secrets of one
// key of ann's.
func inIdentities(t *testing.T, f func(t *testing.T, w *world, s *identities)) {
	ann := wshub.Identity{Owner: "ann", KeyID: "id-ann"}
	s := &identities{of: map[wshubKey]wshub.Identity{"key-1": ann, "key-2": ann}}
	inWorld(t, func(o *wshub.Options) { o.Authenticate = s.authenticate }, func(t *testing.T, w *world) { f(t, w, s) })
}

// A key that has another owner or id by now loses its connections within 5 s, and those
// that it makes then are the new owner's.
func TestKeyWithAnotherIdentity(t *testing.T) {
	for name, now := range map[string]wshub.Identity{
		"another owner":        {Owner: "bob", KeyID: "id-ann"},
		"another id":           {Owner: "ann", KeyID: "id-new"},
		"another owner and id": {Owner: "bob", KeyID: "id-bob"},
	} {
		t.Run(name, func(t *testing.T) {
			inIdentities(t, func(t *testing.T, w *world, s *identities) {
				moved, stays := w.openAs("1", ""), w.openAs("2", "")
				moved.wants("connected 0")
				stays.wants("connected 0")
				start := time.Now()
				s.set("key-1", now)
				moved.wantsEnd(4001, "error 4001")
				if took := time.Since(start); took > 5*time.Second {
					t.Errorf("took %s", took)
				}
				again := w.openAs("1", "")
				again.wants("connected 0")
				advance(10 * time.Second)
				w.hub.Publish(w.store.commit(alpha))
				w.hub.Publish(w.store.commit(other))
				again.wants("tweet 1")
				stays.wants("tweet 1")
			})
		})
	}
}

// Each secret of a key is authenticated again, and ends alone.
func TestSecretsOfAKeyEndAlone(t *testing.T) {
	for name, ending := range map[string]string{"the first that connected": "1", "the second": "2"} {
		t.Run(name, func(t *testing.T) {
			inIdentities(t, func(t *testing.T, w *world, s *identities) {
				conns := map[string]*client{}
				for _, n := range []string{"1", "2"} {
					conns[n] = w.openAs(n, "")
					conns[n].wants("connected 0")
				}
				start := time.Now()
				s.remove(wshubKey("key-" + ending))
				conns[ending].wantsEnd(4001, "error 4001")
				if took := time.Since(start); took > 5*time.Second {
					t.Errorf("took %s", took)
				}
				delete(conns, ending)
				advance(10 * time.Second)
				w.hub.Publish(w.store.commit(alpha))
				for _, c := range conns {
					c.wants("tweet 1")
				}
			})
		})
	}
}

// An answer that was asked for before a connection was made does not end it.
func TestIdentityOfBeforeTheConnection(t *testing.T) {
	inIdentities(t, func(t *testing.T, w *world, s *identities) {
		before := w.openAs("1", "")
		before.wants("connected 0")
		let := s.holdNext()
		advance(3 * time.Second) // it is asked again
		s.set("key-1", wshub.Identity{Owner: "bob", KeyID: "id-ann"})
		after := w.openAs("1", "")
		after.wants("connected 0")
		let()
		synctest.Wait()
		before.wantsEnd(4001, "error 4001")
		w.hub.Publish(w.store.commit(other))
		after.wants("tweet 1")
	})
}
