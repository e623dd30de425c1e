package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/importer"
	"go/token"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// pkg is what go list tells of a package.
type pkg struct {
	ImportPath, Dir, Export   string
	GoFiles                   []string
	TestGoFiles, XTestGoFiles []string
	DepOnly                   bool
	Module                    *struct{ Path, Dir string }
}

// trial is a sample of mutants and the tests that are to notice them.
type trial struct {
	root, dir string // the module; for files of the trial's own
	module    string
	list      []*pkg
	queue     []*mutant // not drawn yet
	sample    []*mutant
	tests     []*test
}

// test is one test of a package, alone.
type test struct {
	pkg, binary, dir, name string
	took                   time.Duration
	reached                map[int]bool
}

// newTrial finds the mutants of some packages, in the order of the source. The tests of
// these packages and of the others in also are to notice them.
func newTrial(root, dir string, packages, also []string) (*trial, error) {
	only, err := goList(root, packages)
	if err != nil {
		return nil, err
	}
	list, err := goList(root, append(slices.Clone(packages), also...))
	if err != nil {
		return nil, err
	}
	t := &trial{root: root, dir: dir, list: list}
	exports := map[string]string{}
	for _, p := range list {
		exports[p.ImportPath] = p.Export
	}
	fset := token.NewFileSet()
	imp := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	for _, p := range only {
		if p.DepOnly {
			continue
		}
		t.module = p.Module.Path
		found, err := mutantsOf(p, imp, fset)
		if err != nil {
			return nil, err
		}
		t.queue = append(t.queue, found...)
	}
	return t, nil
}

func goList(root string, packages []string) ([]*pkg, error) {
	out, err := command(root, nil, "go", append([]string{"list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles,TestGoFiles,XTestGoFiles,DepOnly,Module"}, packages...)...)
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, out)
	}
	var list []*pkg
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		p := &pkg{}
		if err := dec.Decode(p); err == io.EOF {
			return list, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		list = append(list, p)
	}
}

// draw makes a sample of n mutants, by seed, that compile together, and writes their overlay.
func (t *trial) draw(seed uint64, n int) error {
	rand.New(rand.NewPCG(seed, 0)).Shuffle(len(t.queue), func(i, j int) { t.queue[i], t.queue[j] = t.queue[j], t.queue[i] })
	for {
		more := min(n-len(t.sample), len(t.queue))
		t.sample, t.queue = append(t.sample, t.queue[:more]...), t.queue[more:]
		packages, err := t.overlay()
		if err != nil {
			return err
		}
		out, err := command(t.root, nil, "go", append([]string{"build", "-gcflags=-e", "-overlay", t.path("overlay.json")}, packages...)...)
		if err == nil {
			return nil
		}
		bad := map[string]bool{}
		for _, place := range regexp.MustCompile(`(?m)^(\S+\.go):(\d+):`).FindAllStringSubmatch(string(out), -1) {
			path := place[1]
			if !filepath.IsAbs(path) {
				path = filepath.Join(t.root, path)
			}
			bad[path+":"+place[2]] = true
		}
		before := len(t.sample)
		t.sample = slices.DeleteFunc(t.sample, func(m *mutant) bool { return bad[fmt.Sprint(m.file, ":", m.line)] })
		if len(t.sample) == before {
			return fmt.Errorf("the mutants do not compile: %s", out)
		}
	}
}

func (t *trial) path(name string) string { return filepath.Join(t.dir, name) }

// overlay writes the sample's files, which the go command reads in place of the source.
func (t *trial) overlay() (packages []string, err error) {
	byFile := map[string][]*mutant{}
	for i, m := range t.sample {
		m.id = i + 1
		byFile[m.file] = append(byFile[m.file], m)
		packages = append(packages, m.pkg)
	}
	replace := map[string]string{filepath.Join(t.root, "internal/breakage/breakage.go"): t.path("helper.go")}
	if err := os.WriteFile(t.path("helper.go"), []byte(helper), 0o600); err != nil {
		return nil, err
	}
	for file, mutants := range byFile {
		src, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		by := t.path(fmt.Sprintf("%d.go", len(replace)))
		if err := os.WriteFile(by, []byte(broken(src, t.module+"/internal/breakage", mutants)), 0o600); err != nil {
			return nil, err
		}
		replace[file] = by
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return nil, err
	}
	slices.Sort(packages)
	return slices.Compact(packages), os.WriteFile(t.path("overlay.json"), text, 0o600)
}

// build makes the test binaries, and has each of their tests say which mutants it reaches.
// A test that fails with none of them active is no judge.
func (t *trial) build() error {
	for i, p := range t.list {
		if p.DepOnly || len(p.TestGoFiles)+len(p.XTestGoFiles) == 0 {
			continue
		}
		binary := t.path(fmt.Sprintf("%d.test", i))
		if out, err := command(t.root, nil, "go", "test", "-c", "-vet=off", "-overlay", t.path("overlay.json"), "-o", binary, p.ImportPath); err != nil {
			return fmt.Errorf("the tests of %s do not compile: %s", p.ImportPath, out)
		}
		names, err := command(p.Dir, nil, binary, "-test.list", "^(Test|Fuzz|Example)")
		if err != nil {
			return fmt.Errorf("tests of %s: %s", p.ImportPath, names)
		}
		for _, name := range strings.Fields(string(names)) {
			t.tests = append(t.tests, &test{pkg: p.ImportPath, binary: binary, dir: p.Dir, name: name})
		}
	}
	errs := make([]error, len(t.tests))
	each(len(t.tests), func(i int) { errs[i] = t.tests[i].survey(t.path(fmt.Sprintf("%d.reached", i))) })
	t.tests = slices.DeleteFunc(t.tests, func(x *test) bool { return x.reached == nil })
	return errors.Join(errs...)
}

func (x *test) survey(file string) error {
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		return err
	}
	began := time.Now()
	if out, err := runTests(x.binary, x.dir, []string{x.name}, 5*time.Minute, "BREAKAGE_REACHED="+file); err != nil {
		fmt.Printf("%s of %s fails as it is, and is left out: %s\n", x.name, x.pkg, firstFailure(out))
		return nil
	}
	x.took = time.Since(began)
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	x.reached = map[int]bool{}
	for _, field := range strings.Fields(string(text)) {
		id, err := strconv.Atoi(field)
		if err != nil {
			return err
		}
		x.reached[id] = true
	}
	return nil
}

// verdict is how a mutant ended: by is the test that noticed it, "" if none did.
type verdict struct {
	by    string
	tests int // that reach it
}

var timeout = 10 * time.Second // of a mutant, beside five times what the tests need without it

// try runs the tests that reach a mutant, quick ones first, until one fails.
func (t *trial) try(m *mutant) verdict {
	var tests []*test
	for _, x := range t.tests {
		if x.reached[m.id] {
			tests = append(tests, x)
		}
	}
	slices.SortStableFunc(tests, func(a, b *test) int { return int(a.took - b.took) })
	for left := tests; len(left) > 0; {
		var now, later []*test // those of one binary, for as long as what they need doubles at most
		var needs time.Duration
		for _, x := range left {
			if x.binary == left[0].binary && (needs < time.Second || x.took < needs/4) {
				now, needs = append(now, x), needs+x.took
			} else {
				later = append(later, x)
			}
		}
		left = later
		var names []string
		for _, x := range now {
			names = append(names, x.name)
		}
		out, err := runTests(now[0].binary, now[0].dir, names, timeout+5*needs, "BREAKAGE="+strconv.Itoa(m.id))
		if err != nil {
			return verdict{firstFailure(out), len(tests)}
		}
	}
	return verdict{"", len(tests)}
}

// runTests runs tests of a binary. A bug may allocate without end: they have 8 GiB.
func runTests(binary, dir string, names []string, limit time.Duration, env string) ([]byte, error) {
	return command(dir, []string{env}, "sh", "-c", `ulimit -v 8388608 2>/dev/null; exec "$0" "$@"`, binary,
		"-test.short", "-test.failfast", "-test.timeout="+limit.String(), "-test.run=^("+strings.Join(names, "|")+")$")
}

func firstFailure(out []byte) string {
	if found := regexp.MustCompile(`(?m)^(--- FAIL: \S+|panic: .*|fatal error: .*)`).Find(out); found != nil {
		return string(found)
	}
	return string(out[:min(len(out), 200)])
}

// command runs a program and ends it at the latest a quarter of an hour later.
func command(dir string, env []string, name string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = dir, append(os.Environ(), env...), 5*time.Second
	if name == "go" {
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			out = append(out, stderr.Bytes()...)
		}
		return out, err
	}
	return cmd.CombinedOutput()
}

// each calls do for 0 to n-1, two at a time.
func each(n int, do func(int)) {
	var workers sync.WaitGroup
	next := make(chan int)
	for range 2 {
		workers.Go(func() {
			for i := range next {
				do(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	workers.Wait()
}
