package arrivals_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/enginetest/arrivals"
)

const tinyArrivals = "# arrivals v1 name=tiny accounts=3 events=4 start=1000 end=1100.5\n" +
	"# a comment\n0\t1001.5\n1\t1010\n# another\n0\t1010\n0\t1100.500000000\n"

// tiny is what tinyArrivals says.
func tiny() *arrivals.Recording {
	return &arrivals.Recording{
		Name: "tiny", Start: time.Unix(1000, 0).UTC(), Length: 100*time.Second + 500*time.Millisecond,
		Posts: [][]time.Duration{
			{1500 * time.Millisecond, 10 * time.Second, 100*time.Second + 500*time.Millisecond},
			{10 * time.Second},
			{},
		},
	}
}

func zipped(text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	io.WriteString(z, text)
	z.Close()
	return b.String()
}

func TestRead(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		want       func(a *arrivals.Recording)
	}{
		{"plain", tinyArrivals, func(*arrivals.Recording) {}},
		{"gzipped", zipped(tinyArrivals), func(*arrivals.Recording) {}},
		{"without a line break at the end", strings.TrimSuffix(tinyArrivals, "\n"), func(*arrivals.Recording) {}},
		{"with fields of others", strings.Replace(tinyArrivals, "name", "by=me name", 1), func(*arrivals.Recording) {}},
		{"with more digits than nanoseconds have", strings.Replace(tinyArrivals, "1001.5", "1001.50000000099", 1), func(*arrivals.Recording) {}},
		{"to the nanosecond", strings.Replace(tinyArrivals, "1001.5", "1001.500000001", 1), func(a *arrivals.Recording) { a.Posts[0][0]++ }},
		{"without posts", "# arrivals v1 name= accounts=1 events=0 start=0 end=0.1\n", func(a *arrivals.Recording) {
			*a = arrivals.Recording{Start: time.Unix(0, 0).UTC(), Length: 100 * time.Millisecond, Posts: [][]time.Duration{{}}}
		}},
	} {
		want := tiny()
		tc.want(want)
		if got, err := arrivals.Read(strings.NewReader(tc.text)); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, error %v, want %+v", tc.name, got, err, want)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	for _, tc := range []struct{ name, from, to, want string }{
		{"nothing", tinyArrivals, "", "line 1: unexpected EOF"},
		{"another format", "arrivals v1", "arrivals v2", `line 1: "# arrivals v2 `},
		{"a name with a space", "name=tiny", "name=very tiny", `line 1: field "tiny" is not allowed: want key=value`},
		{"a field twice", "end=", "start=3 end=", `line 1: field "start=3" is not allowed`},
		{"no accounts", "accounts=3", "accounts=0", `line 1: accounts "0" is not allowed: want 1 to 1000000`},
		{"too many accounts", "accounts=3", "accounts=1000001", `accounts "1000001"`},
		{"accounts left out", " accounts=3", "", `accounts "" is not allowed`},
		{"too many events", "events=4", "events=100000001", `events "100000001" is not allowed: want 0 to 100000000`},
		{"no end", " end=1100.5", "", `end "" are not allowed: want Unix seconds`},
		{"the end at the start", "end=1100.5", "end=1000", "the end later"},
		{"eleven years", "end=1100.5", "end=350000000", "at most ten years later"},
		{"milliseconds", "start=1000 ", "start=1434327193000 ", `start "1434327193000"`},
		{"an account too many", "1\t1010", "3\t1010", `line 4: account "3" is not allowed: want 0 to 2`},
		{"a negative account", "1\t1010", "-1\t1010", `line 4: account "-1"`},
		{"no tab", "1\t1010", "1 1010", `line 4: account "1 1010"`},
		{"an empty line", "# a comment", "", `line 2: account ""`},
		{"a time before the start", "1001.5", "999.9", `line 3: time "999.9" is not allowed: want Unix seconds from start to end, 1000 to 1100.5`},
		{"a time after the end", "1100.500000000", "1100.500000001", `line 7: time "1100.500000001"`},
		{"a time in another notation", "1001.5", "1.0015e3", `line 3: time "1.0015e3"`},
		{"a time without its fraction", "1001.5", "1001.", `line 3: time "1001."`},
		{"a third column", "1\t1010", "1\t1010\t7", `line 4: time "1010\t7"`},
		{"lines out of order", "0\t1010\n", "0\t1009\n", `line 6: time "1009" is not allowed: want lines sorted by time`},
		{"an event too many", "events=4", "events=3", "line 7: one event too many: want 3, as line 1 says"},
		{"an event too few", "events=4", "events=5", "line 8: it ends after 4 events: want 5"},
		{"a line without an end", "# a comment", "# " + strings.Repeat("x", 100_000), "line 2: bufio.Scanner: token too long"},
	} {
		text := strings.Replace(tinyArrivals, tc.from, tc.to, 1)
		_, err := arrivals.Read(strings.NewReader(text))
		if err == nil || !strings.HasPrefix(err.Error(), "arrivals: line ") || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: error %v, want one with %s", tc.name, err, tc.want)
		}
	}
	cut := zipped(tinyArrivals)
	if _, err := arrivals.Read(strings.NewReader(cut[:len(cut)-9])); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a cut gzip stream: error %v, want an unexpected EOF", err)
	}
}

// What the first line promises takes no memory.
func TestReadBelievesNoPromise(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := arrivals.Read(strings.NewReader("# arrivals v1 accounts=1000000 events=100000000 start=0 end=9\n0\t1\n"))
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; err == nil || took > 1<<20 {
		t.Errorf("%d bytes, error %v, want less than a MiB and an error", took, err)
	}
}

func TestOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "arrivals.tsv.gz")
	if _, err := arrivals.Open(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v, want fs.ErrNotExist", err)
	}
	for _, tc := range []struct{ text, err string }{
		{zipped(tinyArrivals), ""},
		{"# nothing", path + ": line 1"},
	} {
		if err := os.WriteFile(path, []byte(tc.text), 0o600); err != nil {
			t.Fatal(err)
		}
		a, err := arrivals.Open(path)
		if tc.err == "" && (err != nil || !reflect.DeepEqual(a, tiny())) {
			t.Errorf("got %+v, error %v", a, err)
		}
		if tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
			t.Errorf("error %v, want one with %s", err, tc.err)
		}
	}
}

func TestArrivalsRoundTrip(t *testing.T) {
	for _, a := range []*arrivals.Recording{
		tiny(),
		arrivals.Generate(arrivals.Config{Seed: 3, Sigma: 2, Burst: 0.8}),
	} {
		var b bytes.Buffer
		if err := arrivals.Write(&b, a); err != nil {
			t.Fatal(err)
		}
		for i, posts := range a.Posts {
			if posts == nil {
				a.Posts[i] = []time.Duration{}
			}
		}
		if got, err := arrivals.Read(&b); err != nil || !reflect.DeepEqual(got, a) {
			t.Errorf("%s came back otherwise, error %v", a.Name, err)
		}
	}
}

func TestWriteRefuses(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(a *arrivals.Recording)
		want   string
	}{
		{"no accounts", func(a *arrivals.Recording) { a.Posts = nil }, "0 accounts are not allowed"},
		{"a name with a line break", func(a *arrivals.Recording) { a.Name = "a\nb" }, `name "a\nb"`},
		{"no length", func(a *arrivals.Recording) { a.Length = 0 }, "length 0s"},
		{"no start", func(a *arrivals.Recording) { a.Start = time.Time{} }, "start 0001-01-01"},
		{"posts out of order", func(a *arrivals.Recording) { a.Posts[0][0] = time.Minute }, "posts of account 0"},
		{"a post before the start", func(a *arrivals.Recording) { a.Posts[1][0] = -1 }, "posts of account 1"},
		{"a post after the end", func(a *arrivals.Recording) { a.Posts[1][0] = a.Length + 1 }, "posts of account 1"},
	} {
		a := tiny()
		tc.change(a)
		if err := arrivals.Write(io.Discard, a); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: error %v, want one with %s", tc.name, err, tc.want)
		}
	}
	if err := arrivals.Write(io.Discard, nil); err == nil {
		t.Error("no recording: no error")
	}
	if err := arrivals.Write(full{}, tiny()); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("a full disk: error %v", err)
	}
}

// full is a writer that takes nothing.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

// What can be read is sound, and the same when it is written and read again.
func FuzzRead(f *testing.F) {
	f.Add([]byte(tinyArrivals))
	f.Add([]byte(zipped(tinyArrivals)))
	f.Add([]byte("# arrivals v1 accounts=1 events=0 start=NaN end=1\n"))
	f.Add([]byte("# arrivals v1 accounts=2 events=1 start=6999999000 end=6999999999.999999999\n1\t6999999999.999999999\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		a, err := arrivals.Read(bytes.NewReader(text))
		if err != nil {
			return
		}
		var b bytes.Buffer
		if err := arrivals.Write(&b, a); err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		again, err := arrivals.Read(&b)
		if err != nil {
			t.Fatalf("what was written cannot be read: %v", err)
		}
		if again.Name != a.Name || !again.Start.Equal(a.Start) || again.Length != a.Length || !reflect.DeepEqual(again.Posts, a.Posts) {
			t.Errorf("read %+v, and again %+v", a, again)
		}
	})
}
