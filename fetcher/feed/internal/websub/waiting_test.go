package websub

import (
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// A hub that is asked all that it may be goes on to be asked when those that wait for it
// are not wanted any more.
func TestWaitingForAHub(t *testing.T) {
	topics := func(from, to int) (list []Topic) {
		for n := from; n <= to; n++ {
			list = append(list, Links{Hubs: []string{hubURL}, Self: fmt.Sprintf("https://feeds.example/%d.xml", n)}.Topic())
		}
		return list
	}
	subscribing(t, func(t *testing.T, h *testHub, s *Subscriber) {
		open := make(chan bool)
		h.answer = func(int, asked) *http.Response { <-open; return reply(202) }
		s.Want(topics(1, 5))
		synctest.Wait()
		if got := h.asked(); got != maxHubAtOnce {
			t.Fatalf("%d requests at a time, want %d", got, maxHubAtOnce)
		}
		s.mu.Lock()
		last := s.hubs.of(hubURL).waiting[2].topic
		s.mu.Unlock()
		s.Want([]Topic{last}) // the others are forgotten, those that wait before it, too
		close(open)
		pass(time.Minute)
		if !s.Leased(last) {
			t.Errorf("the last topic is not leased after %d requests", h.asked())
		}
	})
}
