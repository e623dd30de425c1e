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
		if got, err := snk.Posts(); err != nil || got != want {
			t.Errorf("the sink counted %d, %v; want %d", got, err, want)
		}
		snk.Stop()
		http.DefaultClient.CloseIdleConnections() // which Posts and a contestant use
	}
}
