package recorder_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/detect/recorder"
)

// Of the files that killed processes have left the newest four stay, and no dump goes for them.
func TestFilesOfKilledProcesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		for i := range 10 {
			rec, err := recorder.New(recorder.Options{Dir: dir, Keep: 2, Every: time.Second})
			if err != nil {
				t.Fatal(err)
			}
			ctx, kill := context.WithCancel(t.Context())
			ran := make(chan error)
			go func() { ran <- rec.Run(ctx) }()
			if i == 0 {
				rec.Trigger("a loss")
			}
			pass(1500 * time.Millisecond)
			kill()
			<-ran
		}
		for what, want := range map[string]int{"a-loss": 1, "latest": 4} {
			files, err := filepath.Glob(filepath.Join(dir, "recording-*-"+what+".jsonl.gz"))
			if err != nil || len(files) != want {
				t.Errorf("%v, %v: want %d of %q", files, err, want, what)
			}
		}
	})
}

// Old dumps, and what a killed process has left, are removed whatever Dir is called.
// Other files stay.
func TestOldDumpsAreRemoved(t *testing.T) {
	for _, name := range []string{"plain", "[a-", "[recordings]", "*?"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir := filepath.Join(t.TempDir(), name)
				if err := os.MkdirAll(dir, 0o700); err != nil {
					t.Skip("no directory has this name here:", err)
				}
				for file, age := range map[string]time.Duration{
					".recording-1": 2 * time.Hour, ".recording-2": time.Minute, "mine.jsonl.gz": 1000 * time.Hour, ".mine": 1000 * time.Hour,
				} {
					at := time.Now().Add(-age)
					if err := errors.Join(os.WriteFile(filepath.Join(dir, file), nil, 0o600), os.Chtimes(filepath.Join(dir, file), at, at)); err != nil {
						t.Fatal(err)
					}
				}
				rec, err := recorder.New(recorder.Options{Dir: dir, Keep: 2, Apart: time.Second})
				if err != nil {
					t.Fatal(err)
				}
				ctx, stop := context.WithCancel(t.Context())
				ran := make(chan error)
				go func() { ran <- rec.Run(ctx) }()
				has := func(when, want string, dumps int) {
					t.Helper()
					synctest.Wait()
					files, err := os.ReadDir(dir)
					if err != nil {
						t.Fatal(err)
					}
					var others []string
					for _, f := range files {
						if strings.HasPrefix(f.Name(), "recording-") {
							dumps--
						} else {
							others = append(others, f.Name())
						}
					}
					if got := strings.Join(others, " "); got != want || dumps != 0 {
						t.Errorf("%s: files %v, want %s, and %d dumps more", when, files, want, dumps)
					}
				}
				has("at the start", ".mine .recording-2 mine.jsonl.gz", 0)
				for range 4 {
					rec.Trigger("a question")
					pass(2 * time.Second)
				}
				has("after four dumps", ".mine .recording-2 mine.jsonl.gz", 2)
				pass(time.Hour)
				rec.Trigger("a question")
				has("an hour later", ".mine mine.jsonl.gz", 2)
				stop()
				<-ran
			})
		})
	}
}
