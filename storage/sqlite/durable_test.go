package sqlite_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/storage/sqlite"
)

// childFile names the environment variable by which TestKilled runs itself as
// the process that is killed.
const childFile = "STREAMWATCH_TEST_SQLITE_FILE"

// A process is killed while eight of its goroutines commit. Each commit that was
// acknowledged is stored, whole.
func TestKilled(t *testing.T) {
	if path := os.Getenv(childFile); path != "" {
		commitUntilKilled(t, path)
	}
	const rounds, answersEach = 3, 40
	path := filepath.Join(t.TempDir(), "store.db")
	answered := make(map[string]bool)
	for round := range rounds {
		child := exec.Command(os.Args[0], "-test.run=^TestKilled$")
		child.Env = append(os.Environ(), childFile+"="+path, fmt.Sprint("ROUND=", round))
		out, err := child.StdoutPipe()
		must(t, err)
		must(t, child.Start())
		lines := bufio.NewScanner(out)
		for n := 0; n < answersEach && lines.Scan(); n++ {
			answered[lines.Text()] = true
		}
		must(t, child.Process.Kill())
		for lines.Scan() { // answered before the end
			if tweet, whole := strings.CutSuffix(lines.Text(), "."); whole {
				answered[tweet+"."] = true
			}
		}
		child.Wait()

		s, _ := openAt(t, path, sqlite.Options{})
		evs := eventsOf(t, s, "acme")
		there := make(map[string]bool)
		for i, ev := range evs {
			want(t, "sequence number", ev.Seq, uint64(i+1))
			there[ev.TweetID] = true
		}
		for tweet := range answered {
			if !there[tweet] {
				t.Errorf("round %d: %s was answered and is not there", round, tweet)
			}
		}
		if len(answered) < (round+1)*answersEach {
			t.Errorf("round %d: %d answers: the test shows nothing", round, len(answered))
		}
		// With each event came its charge, cursor and delivery.
		wantBalance(t, s, "acme", billing.Credits(len(evs)), 0)
		cursors, err := s.Ports().Journal.Cursors(t.Context(), tweetList(there)...)
		must(t, err)
		want(t, "cursors", len(cursors), len(evs))
		want(t, "open deliveries", len(claim(t, s, at(3600*round), 10_000)), len(evs))
		closed(t, s)
	}
}

func tweetList(set map[string]bool) (list []string) {
	for tweet := range set {
		list = append(list, tweet)
	}
	return list
}

// commitUntilKilled prints the tweet of each commit that was answered; a full
// stop ends it, so that a half line is told from a whole one.
func commitUntilKilled(t *testing.T, path string) {
	s, err := sqlite.Open(context.Background(), path, sqlite.Options{})
	must(t, err)
	for g := range 8 {
		go func() {
			for i := 0; ; i++ {
				tweet := fmt.Sprintf("%s-%d-%d.", os.Getenv("ROUND"), g, i)
				err := s.Ports().Journal.Commit(context.Background(), []*detect.Batch{{
					Cursor: &detect.Cursor{Target: tweet}, DeliverBy: start,
					Events:  []deliver.Event{handled(acme, tweet, "log")},
					Charges: []billing.Entry{{ID: tweet, Owner: "acme", Amount: 1}},
				}})
				if err != nil {
					panic(err)
				}
				fmt.Println(tweet)
			}
		}()
	}
	select {}
}
