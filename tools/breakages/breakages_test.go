package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// What is drawn from a function, by its kind and source.
var rules = []struct {
	name, source string
	want         []string
}{
	{"conditions are negated", `func Do(n int) { if n%2 == 0 { n = n * 2 }; for n%3 == 0 { n++ }; switch { case n == 7: n-- } }`,
		[]string{"negated: n%2 == 0", "dropped: n = n * 2", "negated: n%3 == 0", "dropped: n++", "negated: n == 7", "dropped: n--"}},
	{"comparisons within a condition are swapped", `func Do(n int) bool { return n == 1 }`, []string{"zeroed: n == 1", "compared: n == 1"}},
	{"what is counted is compared at its bound", `func Do(s []int) { for len(s) > 2 { s = s[1:] } }`,
		[]string{"negated: len(s) > 2", "compared: len(s) > 2", "dropped: s = s[1:]"}},
	{"what is measured is compared in its direction", `func Do(t, u time.Time, d time.Duration) (a, b bool) { a = t.Before(u); b = d < 3; return }`,
		[]string{"dropped: a = t.Before(u)", "compared: t.Before(u)", "dropped: b = d < 3", "compared: d < 3"}},
	{"&& and || are exchanged", `func Do(a, b, c bool) (d bool) { d = a && b || c; return }`,
		[]string{"dropped: d = a && b || c", "|| to &&: a && b || c", "&& to ||: a && b"}},
	{"a bound that one side is set to matters not", `func Do(n int) { if n > 5 { n = 5 }; Use(n) }`,
		[]string{"negated: n > 5", "dropped: n = 5", "dropped: Use(n)"}},
	{"sums are one larger", `func Do(n int) { Use(n - 1); for range n { Use(1 + 2) } }`,
		[]string{"dropped: Use(n - 1)", "off by one: n - 1", "off by one: n", "dropped: Use(1 + 2)"}},
	{"a sum of durations is not", `func Do(d time.Duration) { d += 1; Use(d + 1) }`, []string{"dropped: d += 1", "dropped: Use(d + 1)"}},
	{"two int64s are nanoseconds, which are measured", `func Do(now, at, n int64, d time.Duration, s []int) { Use(now+int64(d), now >= at, n+int64(len(s)), n > 3) }`,
		[]string{"dropped: Use(now+int64(d), now >= at, n+int64(len(s)), n > 3)", "compared: now >= at", "off by one: n+int64(len(s))", "compared: n > 3"}},
	{"results are zeroed", `func Do(n int, err error) (int, error, bool) { if err != nil { return 0, err, true }; return n, nil, false }`,
		[]string{"negated: err != nil", "dropped: return 0, err, true", "zeroed: err", "negated: true", "zeroed: n", "negated: false"}},
	{"what is returned with an error is not", `func Do(n int, err error) (int, error) { return n, err }`, []string{"zeroed: err"}},
	{"a guard's return is dropped, others are not", `func Do(n int) { if n == 1 { return } else { return } }`, []string{"negated: n == 1"}},
	{"statements of cases and deferred ones are dropped", `func Do(c chan int) { defer Use(1); select { case n := <-c: Use(n); default: c <- 1 } }`,
		[]string{"dropped: defer Use(1)", "dropped: Use(n)", "dropped: c <- 1"}},
	{"texts for people are left", `func Do(n int, l *slog.Logger) { if n == 1 { l.Warn("x", "n", n+1) }; Use(fmt.Errorf("%d", n+1)) }`,
		[]string{"dropped: Use(fmt.Errorf(\"%d\", n+1))"}},
	{"so are capacities", `func Do(n int) { Use(make([]int, n+1, n+2), make(map[int]int, n+3), make(chan int, n+4)) }`,
		[]string{"dropped: Use(make([]int, n+1, n+2), make(map[int]int, n+3), make(chan int, n+4))", "off by one: n+1", "off by one: n+4"}},
	{"so is what locks or frees", `func Do(m *sync.Mutex, t *time.Timer, u *time.Ticker, c context.CancelFunc, s []error) { m.Lock(); defer m.Unlock(); t.Stop(); u.Stop(); defer c(); clear(s); s[0] = nil }`, nil},
	{"so is what must be constant", `func Do(n int) (a [1 + 1]int) { const k = 1 + 2; switch n { case k + 1: Use(n) }; return }`, []string{"dropped: Use(n)"}},
}

// module writes a module of one package, with a test of its own.
func module(t *testing.T, source, test string) string {
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module example.com/m\n\ngo 1.26\n", "p.go": source, "p_test.go": test} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const imports = `package p
import ("context"; "fmt"; "log/slog"; "sync"; "time")
var (_ context.Context; _ = fmt.Sprint; _ *slog.Logger; _ sync.Mutex; _ time.Time)
func Use(...any) {}
`

func load(t *testing.T, source, test string) *trial {
	t.Helper()
	tr, err := newTrial(module(t, source, test), t.TempDir(), []string{"./..."}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func TestRules(t *testing.T) {
	source := imports
	for i, tc := range rules {
		source += strings.Replace(tc.source, "Do", fmt.Sprint("Do", i), 1) + "\n"
	}
	tr := load(t, source, "package p")
	for i, tc := range rules {
		var got []string
		for _, m := range tr.queue {
			if m.fn == fmt.Sprint("Do", i) {
				got = append(got, m.kind+": "+m.was)
			}
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s:\n%q, want\n%q", tc.name, got, tc.want)
		}
	}
	all := len(tr.queue)
	if err := tr.draw(1, 1000); err != nil || len(tr.sample) != all {
		t.Errorf("%d of %d mutants compile: %v", len(tr.sample), all, err)
	}
}

const source = `package p

func Max(a, b int) int {
	if a > b && a != b {
		return a
	}
	return b
}

func Loop(n int) (sum int) {
	for n != 0 {
		sum++
		n--
	}
	return sum
}

func Unused(n int) int { return n + 1 }
`

const tests = `package p

import "testing"

func TestMax(t *testing.T) {
	if Max(1, 2) != 2 || Max(2, 1) != 2 {
		t.Fatal("wrong")
	}
}

func TestLoop(t *testing.T) {
	if Loop(3) != 3 {
		t.Fatal("wrong")
	}
}

func TestBroken(t *testing.T) {
	Unused(1)
	t.Fatal("wrong as it is")
}
`

// A mutant is noticed by a test that fails, panics or does not end; not by one that fails
// as it is.
func TestTrial(t *testing.T) {
	timeout = 2 * time.Second
	tr := load(t, source, tests)
	if err := tr.draw(1, 1000); err != nil {
		t.Fatal(err)
	}
	if err := tr.build(); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := tr.report(&out, 50, false); err != nil {
		t.Error(err)
	}
	if err := tr.report(io.Discard, 80, false); err == nil {
		t.Error("no error below the floor")
	}
	var missed []string
	for line := range strings.Lines(out.String()) {
		if what, ok := strings.CutSuffix(line[:strings.LastIndex(line, " (")+1], ": NOT NOTICED "); ok {
			missed = append(missed, what)
		}
	}
	slices.Sort(missed)
	want := []string{
		"p.go:18 Unused: off by one: n + 1", "p.go:18 Unused: zeroed: n + 1", // by no test but the broken one
		"p.go:4 Max: compared: a > b", // it makes no difference
	}
	if !slices.Equal(missed, want) {
		t.Errorf("not noticed:\n%s\nwant:\n%s\nall:\n%s", strings.Join(missed, "\n"), strings.Join(want, "\n"), &out)
	}
}
