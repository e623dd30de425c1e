package sparselog_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/internal/sparselog"
)

// A store that hangs has a line a minute for each message and source, with how many there were.
func TestLogIsSparse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		log := slog.New(sparselog.New(slog.NewTextHandler(&out, nil)))
		source := log.With("source", "a")
		for range 150 { // seconds
			log.Error("commit failed", "batches", 3, "error", errors.New("disk full"))
			source.Warn("commit failed", "error", errors.New("gone"))
			<-time.After(time.Second)
		}
		log.Warn("credits run low", "owner", "a")
		log.Warn("credits run low", "owner", "b")
		log.Error("request", "request_id", "1", "error", "store is gone")
		log.Error("request", "request_id", "2", "error", "store is gone")
		<-time.After(time.Hour)
		log.Info("well")
		log.Error("commit failed", "error", errors.New("again"))
		for want, n := range map[string]int{
			`level=ERROR msg="commit failed" batches=3 error="disk full"` + "\n": 1,
			`batches=3 error="disk full" repeated=`:                              3,
			`source=a error=gone repeated=`:                                      3,
			"credits run low":                                                    2,
			"store is gone":                                                      2,
			"error=again\n":                                                      1,
		} {
			if got := strings.Count(out.String(), want); got != n {
				t.Errorf("%q is there %d times, want %d:\n%s", want, got, n, &out)
			}
		}
		told := 0
		for _, m := range strings.Split(out.String(), "\n") {
			if strings.Contains(m, "disk full") {
				if _, n, ok := strings.Cut(m, "repeated="); ok {
					var more int
					json.Unmarshal([]byte(n), &more)
					told += more
				} else {
					told++
				}
			}
		}
		if told != 150 {
			t.Errorf("the lines tell of %d, want 150:\n%s", told, &out)
		}
	})
}
