package latencybench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/cmd/streamwatch/internal/latencybench/fakeserver"
	"github.com/streamwatch/streamwatch/cmd/streamwatch/internal/latencybench/receipt"
	"github.com/streamwatch/streamwatch/secret"
)

// thisTest starts this test program as a detector.
func thisTest(t *testing.T) program {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return program{path: path, env: []string{asDetector + "=1"}}
}

// Each mode of -detector self, and a fleet, finds posts and delivers them with a valid
// signature; how soon does not matter here.
func TestDetectorSelf(t *testing.T) {
	for _, s := range []self{
		{mode: "polling", nodes: 1, store: "memory"},
		{mode: "probes", nodes: 1, store: "sqlite"},
		{mode: "push", nodes: 1, store: "sqlite"},
		{mode: "polling", nodes: 2, store: "sqlite"},
	} {
		t.Run(fmt.Sprint(s.mode, " ", s.nodes), func(t *testing.T) {
			s.on, s.interval = true, 200*time.Millisecond
			platform := fakeserver.New(5, 1)
			web := httptest.NewServer(platform)
			defer web.Close()
			defer platform.Close()
			b := newBook()
			hook := &webhook{book: b, key: func() secret.Value { return testSecret }}
			came := make(chan struct{}, 100)
			receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				hook.ServeHTTP(w, r)
				came <- struct{}{}
			}))
			defer receiver.Close()
			d, err := startSelf(t.Context(), s, thisTest(t), 5, web.URL, receiver.URL, testSecret, "key", io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			var markers []string
			for n := range 5 {
				markers = append(markers, newMarker())
				platform.Post(n, markers[n])
			}
			for range markers {
				<-came
			}
			if err := d.stop(); err != nil {
				t.Error(err)
			}
			arrivals, _ := b.close()
			got := map[string]bool{}
			for _, a := range arrivals {
				got[a.Marker] = a.Signature == receipt.Valid
			}
			for _, m := range markers {
				if !got[m] {
					t.Errorf("%s did not arrive with a valid signature: %+v", m, arrivals)
				}
			}
		})
	}
}

// A detector that cannot begin says why, and nothing is left of it.
func TestDetectorThatCannotBegin(t *testing.T) {
	for name, tc := range map[string]struct {
		s    self
		p    program
		want string
	}{
		"a platform that is none": {self{on: true, mode: "polling", nodes: 1, interval: time.Second, store: "memory"}, thisTest(t), "platform"},
		"no program":              {self{on: true, mode: "polling", nodes: 1, interval: time.Second, store: "sqlite"}, program{path: "/does/not/exist"}, "detector 1"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := startSelf(t.Context(), tc.s, tc.p, 5, "platform:", "http://127.0.0.1:1/", testSecret, "key", io.Discard)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want one with %q", err, tc.want)
			}
		})
	}
}

// A whole run on this machine ends by itself and leaves files that agree. What arrives
// within the wait depends on the machine, and is not looked at.
func TestWholeRun(t *testing.T) {
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	o, err := parse([]string{"-detector", "self", "-mode", "push", "-websocket", "self", "-posts", "3", "-rate", "100", "-warmup", "0", "-wait", "300ms",
		"-json", file("figures.json"), "-receipts", file("receipts.jsonl"), "-svg", file("picture.svg"), "-key", file("key")}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	noEnv := func(string) (string, bool) { return "", false }
	if err := measure(t.Context(), o, noEnv, thisTest(t), &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	var again strings.Builder
	if err := Verify(&again, []string{"-json", file("figures.json"), file("receipts.jsonl")}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"3 posts: 3 scored", "webhook: ", "websocket: "} {
		if !strings.Contains(out.String(), want) || !strings.Contains(again.String(), want) {
			t.Errorf("the figures lack %q:\n%s\n%s", want, &out, &again)
		}
	}
}

// A run that would score nothing is refused before it begins.
func TestScheduleWithinTheWarmup(t *testing.T) {
	o, err := parse([]string{"-posts", "60", "-rate", "2000", "-warmup", "5s"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	o.wait = time.Millisecond
	err = measure(t.Context(), o, func(string) (string, bool) { return "", false }, program{}, io.Discard, io.Discard)
	if !errors.As(err, new(UsageError)) || !strings.Contains(err.Error(), "-warmup 5s is not allowed: the last of 60 posts is due after ") {
		t.Errorf("error %v, want one that names -warmup", err)
	}
}

// Foreign platforms are asked for what the command line says: nothing is posted when it
// is too much.
func TestTooManyPostsForAPlatform(t *testing.T) {
	posts := 0
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			posts++
		}
		io.WriteString(w, `{"id":"7","acct":"ann"}`)
	}))
	defer web.Close()
	for _, line := range []string{"-posts 101", "-posts 31 -delete"} {
		o, err := parse(append(strings.Fields(line), "-on", "mastodon", "-server", web.URL), io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		token := func(name string) (string, bool) { return "token", true }
		err = measure(context.Background(), o, token, program{}, io.Discard, io.Discard)
		if err == nil || !strings.Contains(err.Error(), "-posts") || posts > 0 {
			t.Errorf("%s: error %v after %d posts, want one before any", line, err, posts)
		}
	}
}

// Files that cannot be written are told before the first post, and the others stay as they
// are.
func TestFilesAreTriedBeforeTheFirstPost(t *testing.T) {
	for _, flag := range []string{"receipts", "json", "svg"} {
		dir := t.TempDir()
		file := func(name string) string { return filepath.Join(dir, name) }
		if err := os.WriteFile(file("json"), []byte("of last week"), 0o600); err != nil {
			t.Fatal(err)
		}
		paths := map[string]string{"receipts": file("receipts"), "json": file("json"), "svg": file("svg")}
		paths[flag] = file("none/" + flag)
		o, err := parse([]string{"-posts", "1", "-warmup", "0", "-wait", "1ms", "-receipts", paths["receipts"], "-json", paths["json"], "-svg", paths["svg"]}, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		var logs strings.Builder
		err = measure(t.Context(), o, func(string) (string, bool) { return "", false }, program{}, io.Discard, &logs)
		if !errors.As(err, new(UsageError)) || !strings.HasPrefix(err.Error(), "-"+flag+" ") || strings.Contains(logs.String(), "1 posts in") {
			t.Errorf("-%s: error %v, log %s: want it before the first post", flag, err, &logs)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
			t.Errorf("-%s: left behind: %v, %v", flag, left, err)
		}
		if b, err := os.ReadFile(file("json")); err != nil || string(b) != "of last week" {
			t.Errorf("-%s: the file that was there has %q, %v", flag, b, err)
		}
	}
}
