package main

import (
	"net/http"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/streamwatch/streamwatch/benchmarks/sink"
)

func TestMain(m *testing.M) {
	if sink.Child() {
		return
	}
	goleak.VerifyTestMain(m)
}

// Every contestant's requests are accepted, and counted as the sink does.
func TestContestantsSend(t *testing.T) {
	for _, hosts := range []int{1, 5} {
		snk, err := sink.Start(sink.Config{Hosts: hosts})
		if err != nil {
			t.Fatal(err)
		}
		list, err := contestants(snk, false, hosts, 4)
		if err != nil {
			t.Fatal(err)
		}
		var want int64
		for _, c := range list {
			for range 2 {
				sent, failed, err := c.run(10 * time.Millisecond)
				if err != nil || failed != 0 || sent == 0 {
					t.Errorf("%s: sent %d, failed %d, %v", c.name(), sent, failed, err)
				}
				want += sent
			}
			c.close()
		}
		if got, err := snk.Counts(); err != nil || got.Posts != want {
			t.Errorf("the sink counted %d, %v; want %d", got.Posts, err, want)
		}
		snkClose(snk)
	}
}

func snkClose(s *sink.Sink) {
	s.Stop()
	// Of the default client, which Counts and a contestant use.
	http.DefaultClient.CloseIdleConnections()
}

func TestParseInFlight(t *testing.T) {
	var s settings
	if err := s.parseInFlight("1,2000"); err != nil || len(s.inFlight) != 2 {
		t.Errorf("%v, %v", s.inFlight, err)
	}
	for _, bad := range []string{"", "0", "2001", "x", "1,"} {
		if s.parseInFlight(bad) == nil {
			t.Errorf("-inflight %q was accepted", bad)
		}
	}
}
