package recorder_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/detect/recorder"
	"github.com/streamwatch/streamwatch/enginetest"
)

// A file that another process has put in its place is not added to: what is there can be read.
func TestLatestOfTwoProcesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		run := func(bytes int) (rec *recorder.Recorder, stop func()) {
			rec, err := recorder.New(recorder.Options{Dir: dir, Every: time.Minute, Bytes: bytes})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			ran := make(chan error, 1)
			go func() { ran <- rec.Run(ctx) }()
			return rec, func() { cancel(); <-ran }
		}
		one, stop := run(1 << 20)
		defer stop()
		pass(30 * time.Second)
		other, stop := run(4 << 10) // its file begins anew often
		defer stop()
		for i := range 30 {
			recorder.OpenGap(one)
			if i%3 > 0 {
				recorder.OpenGap(other)
			}
			for range 2 {
				pass(30 * time.Second)
				synctest.Wait()
				data, err := os.ReadFile(filepath.Join(dir, "latest.jsonl.gz"))
				if err != nil {
					if i == 0 {
						continue
					}
					t.Fatal(err)
				}
				if _, err := recorder.Read(bytes.NewReader(data)); err != nil {
					t.Fatalf("after %d minutes: %v", i, err)
				}
			}
		}
	})
}

// What a killed process leaves in the file of Every has its polls up to the last time that it
// was written, and plays, also if the ring was smaller than what happened between two times.
func TestLatestFollowsTheRing(t *testing.T) {
	for name, row := range map[string]struct {
		bytes int
		every time.Duration
		whole bool // nothing has given way
	}{
		"a large ring":                        {bytes: 1 << 30, every: 10 * time.Second, whole: true},
		"a small ring":                        {bytes: 128 << 10, every: 3 * time.Second},
		"a tiny ring":                         {bytes: 4 << 10, every: time.Minute},
		"a ring that turns between two looks": {bytes: 128 << 10, every: 20 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir := t.TempDir()
				o := newOutage(t, recorder.Options{Dir: dir, Bytes: row.bytes, Every: row.every})
				ctx, kill := context.WithCancel(t.Context())
				ran := make(chan error, 1)
				go func() { ran <- o.rec.Run(ctx) }()
				o.run(t)
				pass(row.every)
				synctest.Wait()
				kill()
				<-ran
				data, err := os.ReadFile(filepath.Join(dir, "latest.jsonl.gz"))
				if err != nil {
					t.Fatal(err)
				}
				rec, err := recorder.Read(bytes.NewReader(data))
				if err != nil {
					t.Fatal(err)
				}
				st := o.rec.Stats()
				if rec.Lost+rec.Polls != st.Lost+st.Records || rec.Polls < st.Records || row.whole != (rec.Lost == 0) || row.whole && rec.Polls < 300 {
					t.Errorf("%d polls behind %d that gave way; the ring: %+v; want all to the last, and no hole", rec.Polls, rec.Lost, st)
				}
				if age := time.Since(rec.Made); age > 2*row.every {
					t.Errorf("last written %s ago", age)
				}
				if row.bytes == 128<<10 && len(data) > 3*row.bytes {
					t.Errorf("a file of %d bytes for a ring of %d", len(data), row.bytes)
				}
				if played := enginetest.Replay(t, bytes.NewReader(data)); played.LeftOut > 0 {
					t.Errorf("played %+v", played)
				}
				cut := data[:len(data)-4] // the machine has lost power
				if rec, err := recorder.Read(bytes.NewReader(cut)); row.whole && (err == nil || rec == nil || rec.Polls == 0) {
					t.Errorf("cut: %+v, %v", rec, err)
				}
			})
		})
	}
}
