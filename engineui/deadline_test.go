package engineui_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

func (l *listener) SetWriteDeadline(at time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.deadline = at
	return nil
}

// writeBy is the deadline of writes that holds now.
func (l *listener) writeBy() time.Time {
	synctest.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.deadline
}

// A deadline holds while a client reads, and while the answer ends. Over HTTP/2 one that
// passes between two writes would end the tail.
func TestDeadlinesOfATail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		l := listen(w, "/tail", http.Header{"Viewer": {"acme"}})
		if at := l.writeBy(); !at.IsZero() {
			t.Errorf("after the first write, the deadline is in %s", time.Until(at))
		}
		open := l.block()
		w.post("acme_news", "a post")
		if at := l.writeBy(); at.IsZero() || time.Until(at) > 5*time.Second {
			t.Errorf("while the client reads, the deadline is %s, want within 5 s", at)
		}
		open()
		<-time.After(time.Minute)
		if at := l.writeBy(); !at.IsZero() {
			t.Errorf("between two writes, the deadline is in %s", time.Until(at))
		}
		w.Close()
		if at := l.writeBy(); !l.ended() || at.IsZero() || time.Until(at) > 5*time.Second {
			t.Errorf("at the end, the deadline is %s, want within 5 s", at)
		}
	})
}
