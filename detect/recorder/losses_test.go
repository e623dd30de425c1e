package recorder_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/detect/recorder"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/monitor"
)

// A post that was shown and is not delivered has a dump written: one an hour for each
// cause, however often it comes.
func TestLossIsAReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		rec, err := recorder.New(recorder.Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ran := make(chan struct{})
		go func() {
			defer close(ran)
			_ = rec.Run(ctx) // ends with ctx
		}()
		p := &spoilt{}
		e, err := streamwatch.New(rec.Wrap(streamwatch.Config{Fetcher: p}))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.Monitors().Create(t.Context(), monitor.CreateRequest{Name: "m", Usernames: []string{"a"}, PollInterval: time.Minute}); err != nil {
			t.Fatal(err)
		}
		if err := e.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		dumps := func(when, why string, want int) {
			t.Helper()
			synctest.Wait()
			files, err := filepath.Glob(filepath.Join(dir, "recording-*"+why+".jsonl.gz"))
			if err != nil || len(files) != want {
				t.Errorf("%s: files %v, %v: want %d of %q", when, files, err, want, why)
			}
		}
		pass(10 * time.Minute)
		dumps("nothing lost", "", 0)
		p.early.Store(true)
		pass(30 * time.Minute)
		dumps("half an hour", "from-the-future", 1)
		p.nameless.Store(true)
		pass(10 * time.Minute)
		dumps("another cause", "no-id", 1)
		pass(40 * time.Minute)
		dumps("an hour", "from-the-future", 2)
		dumps("an hour", "no-id", 1)
		if err := e.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		stop()
		<-ran
	})
}

// Gaps have a dump written once an hour, however many open, so that they do not remove
// that of a loss.
func TestGapsLeaveTheDumpOfALoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		rec, err := recorder.New(recorder.Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		rec.Trigger("lost: no id")
		stop := running(t, rec)
		for range 45 {
			pass(2 * time.Minute)
			recorder.OpenGap(rec)
		}
		stop()
		for why, want := range map[string]int{"lost--no-id": 1, "gap": 2} {
			files, err := filepath.Glob(filepath.Join(dir, "recording-*-"+why+".jsonl.gz"))
			if err != nil || len(files) != want {
				t.Errorf("after 90 minutes of gaps: files %v, %v: want %d of %q", files, err, want, why)
			}
		}
	})
}

// A dump that could not be written is written at the next gap.
func TestDumpThatFailedIsWrittenLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "dumps")
		rec, err := recorder.New(recorder.Options{Dir: dir, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		stop := running(t, rec)
		synctest.Wait()
		if err := os.Remove(dir); err != nil {
			t.Fatal(err)
		}
		recorder.OpenGap(rec)
		pass(5 * time.Minute)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		recorder.OpenGap(rec)
		pass(5 * time.Minute)
		stop()
		if files, err := filepath.Glob(filepath.Join(dir, "recording-*-gap.jsonl.gz")); err != nil || len(files) != 1 {
			t.Errorf("files %v, %v: want one of the second gap", files, err)
		}
	})
}

// A dump has all that came before it: where it could not be written, the next loss of any
// cause has one written, also of a cause that came while it was waiting.
func TestDumpThatFailedWasOfAllCauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "dumps")
		rec, err := recorder.New(recorder.Options{Dir: dir, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		stop := running(t, rec)
		synctest.Wait()
		if err := os.Remove(dir); err != nil {
			t.Fatal(err)
		}
		rec.Trigger("first")
		synctest.Wait()
		rec.Trigger("second") // waits until dumps are apart
		recorder.OpenGap(rec)
		pass(5 * time.Minute)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		recorder.OpenGap(rec)
		pass(5 * time.Minute)
		stop()
		if files, err := filepath.Glob(filepath.Join(dir, "recording-*-gap.jsonl.gz")); err != nil || len(files) != 1 {
			t.Errorf("files %v, %v: want one of the second gap", files, err)
		}
	})
}

// running runs a recorder until stop is called.
func running(t *testing.T, rec *recorder.Recorder) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	ran := make(chan error)
	go func() { ran <- rec.Run(ctx) }()
	return func() {
		cancel()
		<-ran
	}
}

// spoilt is a platform whose newest post is spoilt.
type spoilt struct {
	early, nameless atomic.Bool
	posts           atomic.Int64
}

// Timeline implements fetcher.Fetcher.
func (s *spoilt) Timeline(_ context.Context, q fetcher.TimelineQuery) (fetcher.Page, error) {
	n, at := s.posts.Add(1), time.Now()
	if s.early.Load() {
		at = at.Add(time.Hour)
	}
	tweet := fetcher.Tweet{ID: strconv.FormatInt(n, 10), PublishedAt: at, Text: "a post", User: &fetcher.User{Username: q.Username}}
	if s.nameless.Load() && n%2 == 0 {
		tweet.ID = ""
	}
	return fetcher.Page{Tweets: []fetcher.Tweet{tweet}}, nil
}
