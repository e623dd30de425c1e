package recorder_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/detect/recorder"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/monitor"
)

// secretive answers with what must not be in a dump.
type secretive struct{}

var secrets = []string{"nasa", "Lift-off", "Ad Astra", "4242424242", "1212092628029698048", "private.example", "tok_123", "cursor-abc", "acme", "My monitor"}

func (secretive) Timeline(_ context.Context, q fetcher.TimelineQuery) (fetcher.Page, error) {
	if q.Cursor != "" {
		return fetcher.Page{}, fmt.Errorf("GET https://private.example/?token=tok_123: %w", &fetcher.StatusError{Code: 502, Detail: "tok_123"})
	}
	at := time.Now().Truncate(time.Millisecond)
	return fetcher.Page{Next: "cursor-abc", UserID: "4242424242", Tweets: []fetcher.Tweet{{ID: "1212092628029698048", Text: "Lift-off, says NASA", FullText: "Lift-off, says NASA, at last",
		Username: "NASA", UserID: "4242424242", UserName: "Ad Astra", Permalink: "https://private.example/1", PublishedAt: at,
		Media: []fetcher.Media{{URL: "https://private.example/2"}}, User: &fetcher.User{Name: "Ad Astra"}}}}, nil
}

// dumped runs an engine for a while and returns the dump, unzipped and not.
func dumped(t *testing.T, opts recorder.Options, f fetcher.Fetcher) (text string, dump []byte) {
	rec, err := recorder.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	e, err := streamwatch.New(rec.Wrap(streamwatch.Config{Fetcher: f}))
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Monitors().Create(t.Context(), monitor.CreateRequest{Owner: "acme", Name: "My monitor", Usernames: []string{"nasa"}}); err != nil {
		t.Fatal(err)
	}
	pass(2 * time.Minute)
	if err := e.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := rec.Dump(&b); err != nil {
		t.Fatal(err)
	}
	return unzipped(t, b.Bytes()), b.Bytes()
}

func unzipped(t *testing.T, dump []byte) string {
	zip, err := gzip.NewReader(bytes.NewReader(dump))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(zip)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func zipped(t *testing.T, text string) io.Reader {
	var b bytes.Buffer
	zip := gzip.NewWriter(&b)
	if _, err := io.WriteString(zip, text); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	return &b
}

func TestDumpHidesNamesAndTexts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		text, dump := dumped(t, recorder.Options{}, secretive{})
		for _, s := range secrets {
			if strings.Contains(strings.ToLower(text), strings.ToLower(s)) {
				t.Errorf("the dump has %q", s)
			}
		}
		if played := enginetest.Replay(t, bytes.NewReader(dump)); played.Polls < 2 {
			t.Errorf("played %+v", played)
		}
		again, _ := dumped(t, recorder.Options{}, secretive{})
		name := regexp.MustCompile(`"name":"(x[^"]+)"`)
		if a, b := name.FindStringSubmatch(text), name.FindStringSubmatch(again); a == nil || b == nil || a[1] == b[1] {
			t.Errorf("pseudonyms %v and %v: want one of its own for each dump", a, b)
		}
		plain, dump := dumped(t, recorder.Options{Plain: true}, secretive{})
		for _, s := range secrets {
			if !strings.Contains(strings.ToLower(plain), strings.ToLower(s)) {
				t.Errorf("the plain dump lacks %q", s)
			}
		}
		enginetest.Replay(t, bytes.NewReader(dump))
	})
}

// Another decision than the recorded one is found, wherever it is.
func TestPlayFindsDifferences(t *testing.T) {
	data, err := os.ReadFile(outageFile)
	if err != nil {
		t.Fatal(err)
	}
	text := unzipped(t, data)
	for _, row := range []struct{ name, old, new, field string }{
		{"the overlap", `"overlap_ns":60000000000`, `"overlap_ns":0`, "decided.asked.since"},
		{"the back-off", `"max_backoff_ns":300000000000`, `"max_backoff_ns":30000000000`, "decided.next"},
		{"the jitter", `"seed":`, `"seed":0,"was":`, "decided.next"},
		{"the page cap", `"max_pages":2`, `"max_pages":3`, "given.answers[2]"},
		{"who wants a post", `"refused":[{"Post":"`, `"refused":[{"Post":"other`, "decided.events"},
		{"when a post was detected", `"judged":"2000-01-01T00:0`, `"judged":"2000-01-01T00:1`, "decided.events[0]"},
		{"what was published", `"published":"2000-01-01T00:0`, `"published":"2000-01-01T00:2`, "decided.events"},
		{"a commit that failed", `,"commit_error":[{"kind":"other"}]`, ``, ""},
		{"a limit", `"kind":"rate limit"`, `"kind":"other"`, "decided"},
	} {
		t.Run(row.name, func(t *testing.T) {
			changed := strings.ReplaceAll(text, row.old, row.new)
			if changed == text {
				t.Fatalf("the recording lacks %s", row.old)
			}
			rec, err := recorder.Read(zipped(t, changed))
			if err != nil {
				t.Fatal(err)
			}
			played, err := rec.Play()
			if err != nil {
				t.Fatal(err)
			}
			if len(played.Differences) == 0 {
				t.Fatal("no difference")
			}
			for _, d := range played.Differences {
				if strings.HasPrefix(d.Field, row.field) {
					return
				}
			}
			t.Errorf("the first differs in %s: want one in %s", played.Differences[0], row.field)
		})
	}
}

func TestReadRefuses(t *testing.T) {
	data, err := os.ReadFile(outageFile)
	if err != nil {
		t.Fatal(err)
	}
	text := unzipped(t, data)
	lines := strings.SplitAfter(text, "\n")
	for _, row := range []struct {
		name string
		in   io.Reader
		want string
	}{
		{"nothing", strings.NewReader(""), "not a recording"},
		{"no gzip", strings.NewReader(text), "not a recording"},
		{"another file", zipped(t, "{}\n"), "the first line is no header"},
		{"a later version", zipped(t, strings.Replace(text, `"version":1`, `"version":2`, 1)), "version 2 is not allowed: want 1"},
		{"half a file", bytes.NewReader(data[:len(data)/2]), "unexpected EOF"},
		{"without an end", zipped(t, strings.Join(lines[:20], "")), "unexpected EOF"},
		{"without a line", zipped(t, strings.Join(append(append([]string{}, lines[:20]...), lines[21:]...), "")), "are there"},
		{"without its run", zipped(t, lines[0]+lines[2]), "run 1 is not allowed"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if _, err := recorder.Read(row.in); err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("error %v: want one with %q", err, row.want)
			}
		})
	}
}

// fails is a TB that notes what it is told.
type fails struct{ told []string }

func (f *fails) Helper()                      {}
func (f *fails) Errorf(s string, args ...any) { f.told = append(f.told, fmt.Sprintf(s, args...)) }
func (f *fails) Fatalf(s string, args ...any) { f.Errorf(s, args...) }

// A recording of a stream's posts alone is not taken for one that was played.
func TestReplayRefusesWhatIsNotPlayed(t *testing.T) {
	data, err := os.ReadFile(outageFile)
	if err != nil {
		t.Fatal(err)
	}
	var f fails
	enginetest.Replay(&f, zipped(t, strings.ReplaceAll(unzipped(t, data), `"given":{`, `"given":{"pushed":true,`)))
	if len(f.told) != 1 || !strings.Contains(f.told[0], "nothing of the recording can be played") {
		t.Errorf("told %q", f.told)
	}
}

func TestRunWritesDumps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "new")
		rec, err := recorder.New(recorder.Options{Dir: dir, Keep: 2, Apart: 10 * time.Second, Every: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ran := make(chan error)
		go func() { ran <- rec.Run(ctx) }()
		pass(time.Second)
		count := func(want int, why string) {
			t.Helper()
			synctest.Wait()
			files, err := filepath.Glob(filepath.Join(dir, "recording-*"))
			if err != nil || len(files) != want {
				t.Errorf("%s: files %v, error %v: want %d", why, files, err, want)
			}
		}
		count(0, "at the start")
		rec.Trigger("a Customer's question/..")
		count(1, "told")
		rec.Trigger("gap")
		rec.Trigger("gap")
		count(1, "too soon")
		pass(11 * time.Second)
		count(2, "later")
		pass(11 * time.Second)
		rec.Trigger("loss")
		count(2, "one too many")
		files, _ := filepath.Glob(filepath.Join(dir, "recording-*"))
		if !strings.HasSuffix(files[0], "-gap.jsonl.gz") || !strings.HasSuffix(files[1], "-loss.jsonl.gz") {
			t.Errorf("files %v: want the newest two", files)
		}
		pass(time.Minute)
		latest, err := os.Open(filepath.Join(dir, "latest.jsonl.gz"))
		if err != nil {
			t.Fatal(err)
		}
		defer latest.Close()
		if r, err := recorder.Read(latest); err != nil || r.Why != "every 1m0s" {
			t.Errorf("the file of Every: %+v, %v", r, err)
		}
		rec.Trigger("the end")
		stop()
		if err := <-ran; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		count(2, "at the end")
		all, err := os.ReadDir(dir)
		if err != nil || len(all) != 3 {
			t.Errorf("%d files, %v: want no temporary ones", len(all), err)
		}
		if info, err := all[0].Info(); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("mode %v, %v: want one for the owner alone", info.Mode(), err)
		}
	})
}

// panics has a goroutine panic that defers DumpOnPanic.
func panics(t *testing.T, rec *recorder.Recorder) {
	t.Helper()
	defer func() {
		if v := recover(); v != "boom" {
			t.Errorf("recovered %v: want the panic to go on", v)
		}
	}()
	defer rec.DumpOnPanic()
	panic("boom")
}

func TestDumpOnPanic(t *testing.T) {
	dir := t.TempDir()
	rec, err := recorder.New(recorder.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	panics(t, rec)
	if files, _ := filepath.Glob(filepath.Join(dir, "*-panic.jsonl.gz")); len(files) != 1 {
		t.Errorf("files %v: want one dump", files)
	}
}

// Without a Dir only Dump writes.
func TestDumpOnPanicWithoutADir(t *testing.T) {
	t.Chdir(t.TempDir())
	rec, err := recorder.New(recorder.Options{})
	if err != nil {
		t.Fatal(err)
	}
	panics(t, rec)
	if files, err := filepath.Glob("*"); err != nil || len(files) > 0 {
		t.Errorf("files in the working directory: %v, %v", files, err)
	}
}

// A gap has a dump written.
func TestGapIsAReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		o := newOutage(t, recorder.Options{Dir: dir})
		ctx, stop := context.WithCancel(t.Context())
		ran := make(chan struct{})
		go func() {
			defer close(ran)
			_ = o.rec.Run(ctx) // ends with ctx
		}()
		o.run(t)
		stop()
		<-ran
		files, err := filepath.Glob(filepath.Join(dir, "*-gap.jsonl.gz"))
		if err != nil || len(files) == 0 {
			t.Fatalf("files %v, %v: want a dump of the gap", files, err)
		}
		data, err := os.ReadFile(files[0])
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(unzipped(t, data), `"gap":{`) {
			t.Error("the poll that opened the gap is not in the dump")
		}
		enginetest.Replay(t, bytes.NewReader(data))
	})
}

func TestOptionsNotAllowed(t *testing.T) {
	for field, o := range map[string]recorder.Options{"Bytes": {Bytes: -1}, "Keep": {Keep: -1}, "Apart": {Apart: -1}, "Every": {Every: time.Second}} {
		if _, err := recorder.New(o); err == nil || !strings.Contains(err.Error(), "Options."+field+" ") {
			t.Errorf("%s: error %v: want one that names the field", field, err)
		}
	}
	rec, err := recorder.New(recorder.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := rec.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "Options.Dir") {
		t.Errorf("Run without Dir: %v", err)
	}
}

// A Fetcher that is missing is found by New, with the recorder as without.
func TestWrapLeavesOutMissingFetchers(t *testing.T) {
	rec, err := recorder.New(recorder.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = streamwatch.New(rec.Wrap(streamwatch.Config{Sources: []streamwatch.Source{{Name: "a"}}}))
	if err == nil || !strings.Contains(err.Error(), "Sources[0].Fetcher") {
		t.Errorf("error = %v, want that the Fetcher is missing", err)
	}
}
