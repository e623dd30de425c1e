package recorder_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/detect/recorder"
)

// small is a recording of few polls, and how many they are.
func small(t *testing.T) (data []byte, polls int) {
	t.Helper()
	whole, err := os.ReadFile(outageFile)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for line := range strings.Lines(unzipped(t, whole)) {
		if strings.HasPrefix(line, `{"poll":`) {
			if polls == 6 {
				break
			}
			polls++
		}
		text.WriteString(line)
	}
	fmt.Fprintf(&text, `{"end":{"polls":%d}}`+"\n", polls)
	data, err = io.ReadAll(zipped(t, text.String()))
	if err != nil {
		t.Fatal(err)
	}
	return data, polls
}

// A dump that was cut, wherever that was, is read up to the last whole line before the cut,
// and the error says that it is not whole. Its polls play.
func TestCutDumpIsReadAsFarAsItGoes(t *testing.T) {
	data, polls := small(t)
	if rec, err := recorder.Read(bytes.NewReader(data)); err != nil || rec.Polls != polls {
		t.Fatalf("the whole dump: %v", err)
	}
	for name, damaged := range map[string]func(n int) []byte{
		"cut":  func(n int) []byte { return data[:n] },
		"torn": func(n int) []byte { return slices.Concat(data[:n], make([]byte, len(data)-n)) },
	} {
		t.Run(name, func(t *testing.T) {
			most, shorter := 0, map[int]bool{}
			for n := range len(data) {
				rec, err := recorder.Read(bytes.NewReader(damaged(n)))
				switch {
				case err == nil && bytes.Equal(damaged(n), data): // its last bytes are zeros
				case err == nil:
					t.Fatalf("at %d of %d bytes: no error", n, len(data))
				case (rec != nil) != errors.Is(err, recorder.ErrCut):
					t.Fatalf("at %d of %d bytes: recording %v, error %v: want one that is cut, or none", n, len(data), rec, err)
				case rec != nil && !strings.Contains(err.Error(), fmt.Sprintf("the %d polls before it", rec.Polls)):
					t.Fatalf("at %d of %d bytes: error %v, %d polls: want that it tells how many there are", n, len(data), err, rec.Polls)
				case rec == nil:
					if most > 0 && (name == "cut" || len(data)-n >= 8) { // else it has another sum
						t.Fatalf("at %d of %d bytes: error %v: want the %d polls before it", n, len(data), err, most)
					}
					continue
				}
				played, err := rec.Play()
				if err != nil || len(played.Differences) > 0 || played.Polls+played.LeftOut != rec.Polls {
					t.Fatalf("at %d of %d bytes: played %+v of %d polls, %v: want all, as they were", n, len(data), played, rec.Polls, err)
				}
				if rec.Polls < most {
					t.Fatalf("at %d of %d bytes: %d polls: want %d at least, as of a shorter one", n, len(data), rec.Polls, most)
				}
				most = rec.Polls
				shorter[most] = true
			}
			if most != polls || len(shorter) < 3 {
				t.Errorf("most polls read %d, lengths %v: want up to all %d, and shorter ones", most, shorter, polls)
			}
		})
	}
}

// Nothing that is changed in a dump makes Read or Play panic, and what is read of it is
// not taken for whole.
func TestChangedDumpIsNotTakenForWhole(t *testing.T) {
	data, _ := small(t)
	text := unzipped(t, data)
	for n := range len(data) {
		changed := slices.Clone(data)
		changed[n] ^= 0x10
		rec, err := recorder.Read(bytes.NewReader(changed))
		if err == nil && unzipped(t, changed) != text {
			t.Fatalf("byte %d of %d: no error", n, len(data))
		}
		if rec != nil {
			_, _ = rec.Play() // what a changed line brings is of no interest
		}
	}
}

// The file of Every is as old as was asked for while dumps are wanted all the time, and
// the next process keeps what a killed one has left.
func TestLatestIsNoOlderThanAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		run := func() (rec *recorder.Recorder, stop func()) {
			rec, err := recorder.New(recorder.Options{Dir: dir, Apart: time.Hour, Every: time.Minute})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			ran := make(chan error)
			go func() { ran <- rec.Run(ctx) }()
			return rec, func() { cancel(); <-ran }
		}
		latest := func() []byte {
			t.Helper()
			synctest.Wait()
			data, err := os.ReadFile(filepath.Join(dir, "latest.jsonl.gz"))
			if err != nil {
				t.Fatal(err)
			}
			rec, err := recorder.Read(bytes.NewReader(data))
			if err != nil {
				t.Fatal(err)
			}
			if age := time.Since(rec.Made); age >= time.Minute {
				t.Errorf("the file of Every is %s old: want less than a minute", age)
			}
			return data
		}
		rec, stop := run()
		for range 5 {
			rec.Trigger("gap")
			pass(59 * time.Second)
			rec.Trigger("gap")
			pass(time.Second)
			latest()
		}
		left := latest()
		stop() // the file is as a killed process leaves it
		_, stop = run()
		pass(2 * time.Minute)
		if bytes.Equal(latest(), left) {
			t.Error("the second process has not written its own")
		}
		kept, err := filepath.Glob(filepath.Join(dir, "recording-*-latest.jsonl.gz"))
		if err != nil || len(kept) != 1 {
			t.Fatalf("kept %v, %v: want what the first process has left", kept, err)
		}
		if data, err := os.ReadFile(kept[0]); err != nil || !bytes.Equal(data, left) {
			t.Errorf("%d bytes, %v: want the file that the first process has left", len(data), err)
		}
		stop()
	})
}
