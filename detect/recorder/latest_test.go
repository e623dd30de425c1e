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

// What a killed process leaves in the file of Every has its polls up to the last second, and
// plays, also if the ring was smaller than what happened between two looks at it.
func TestLatestFollowsTheRing(t *testing.T) {
	for name, row := range map[string]struct {
		bytes int
		every time.Duration
		whole bool // nothing has given way
	}{
		"a large ring":                        {bytes: 1 << 30, every: time.Second, whole: true},
		"a small ring":                        {bytes: 128 << 10, every: time.Second},
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
				cut := data[:len(data)-len(data)/3] // the machine has lost power
				if rec, err := recorder.Read(bytes.NewReader(cut)); row.whole && (err == nil || rec == nil || rec.Polls == 0) {
					t.Errorf("cut: %+v, %v", rec, err)
				}
			})
		})
	}
}
