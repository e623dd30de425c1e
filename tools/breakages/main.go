// Breakages proves that the tests can fail: it breaks the code in one place at
// a time, in a copy of the tree, and expects the tests of the packages named to
// turn red.
//
//	go run -C tools ./breakages          # all, from the repository's root
//	go run -C tools ./breakages cursor   # those whose promise contains a word
//	go run -C tools ./breakages -for 2m  # as many as that allows, others with every commit
//
// A row names a function and a change of its syntax tree. A function that is gone,
// and a change that does not fit it in exactly one place, are errors that name the
// row, so that the list cannot silently rot.
package main

import (
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"
)

func main() {
	budget := flag.Duration("for", 0, "begin no breakage after this long (default: do all)")
	flag.Parse()
	if err := run(flag.Arg(0), *budget); err != nil {
		fmt.Fprintln(os.Stderr, "breakages:", err)
		os.Exit(1)
	}
}

// run tries the breakages whose promise contains word, as many at a time as there
// are cores, each in a copy of the tree of its own.
func run(word string, budget time.Duration) error {
	root, err := output("", "git", "rev-parse", "--show-toplevel")
	if err != nil {
		return err
	}
	if err := checkList(root); err != nil {
		return err
	}
	commit, err := output(root, "git", "rev-parse", "HEAD")
	if err != nil {
		return err
	}
	var chosen []breakage
	for _, b := range list {
		if strings.Contains(b.promise, word) {
			chosen = append(chosen, b)
		}
	}
	if len(chosen) == 0 {
		return fmt.Errorf("no breakage has %q in its promise", word)
	}
	if budget > 0 { // which ones come first follows from the commit: another run of it does the same
		seed := sha256.Sum256([]byte(commit))
		rand.New(rand.NewChaCha8(seed)).Shuffle(len(chosen), func(i, j int) { chosen[i], chosen[j] = chosen[j], chosen[i] })
	}
	began := time.Now()
	t := trial{queue: chosen}
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() { t.work(root, func() bool { return budget == 0 || time.Since(began) < budget }) })
	}
	workers.Wait()
	fmt.Printf("%d breakages, %d noticed, %d not tried for lack of time\n", t.tried, t.tried-t.alive, len(t.queue))
	if t.alive > 0 {
		t.errs = append(t.errs, fmt.Errorf("%d of %d breakages went unnoticed", t.alive, t.tried))
	}
	return errors.Join(t.errs...)
}

// trial is what the workers share.
type trial struct {
	mu           sync.Mutex
	queue        []breakage
	tried, alive int
	errs         []error
}

// work tries breakages in a copy of the tree until there are none or more is
// false.
func (t *trial) work(root string, more func() bool) {
	dir, err := os.MkdirTemp("", "breakages-")
	if err == nil {
		defer os.RemoveAll(dir)
		err = copyTree(root, dir)
	}
	for err == nil {
		t.mu.Lock()
		if len(t.queue) == 0 || !more() {
			t.mu.Unlock()
			return
		}
		b := t.queue[0]
		t.queue = t.queue[1:]
		t.mu.Unlock()
		began := time.Now()
		var red bool
		var detail string
		if red, detail, err = try(dir, b); err != nil {
			t.mu.Lock()
			t.errs = append(t.errs, fmt.Errorf("%s: %w", b.promise, err))
			t.mu.Unlock()
			err = nil
			continue
		}
		t.mu.Lock()
		t.tried++
		verdict := "red"
		if !red {
			verdict = "GREEN: no test noticed"
			t.alive++
		}
		fmt.Printf("%-70s %-50s %5.1fs  %s\n", b.promise, b.dir+" "+b.fn, time.Since(began).Seconds(), verdict)
		if red && detail != "" {
			fmt.Printf("  %s\n", detail)
		}
		t.mu.Unlock()
	}
	t.mu.Lock()
	t.errs = append(t.errs, err)
	t.mu.Unlock()
}

// checkList reports every row that does not fit the source.
func checkList(dir string) error {
	var errs []error
	for _, b := range list {
		if _, _, _, err := b.apply(dir); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// try breaks one place, runs the tests, and mends it again.
func try(dir string, b breakage) (red bool, detail string, err error) {
	path, whole, broken, err := b.apply(dir)
	if err != nil {
		return false, "", err
	}
	if err := os.WriteFile(path, broken, 0o644); err != nil {
		return false, "", err
	}
	defer func() {
		if werr := os.WriteFile(path, whole, 0o644); err == nil {
			err = werr
		}
	}()
	if out, err := output(dir, "go", "build", "./"+b.dir); err != nil {
		return false, "", fmt.Errorf("does not compile: %s", out)
	}
	args := append([]string{"test", "-count=1", "-short", "-failfast", "-vet=off", "-timeout=60s"}, b.tests...)
	out, err := output(dir, "go", args...)
	if err == nil {
		return false, "", nil
	}
	for _, line := range strings.Split(out, "\n") {
		if strings.HasPrefix(line, "--- FAIL") || strings.HasPrefix(line, "panic:") || strings.HasPrefix(line, "fatal error:") {
			detail = line
			break
		}
	}
	if detail == "" {
		return false, "", fmt.Errorf("the tests did not run: %s", out)
	}
	return true, detail, nil
}

// copyTree copies the files that git tracks or would track.
func copyTree(root, dir string) error {
	files, err := output(root, "git", "ls-files", "--cached", "--others", "--exclude-standard")
	if err != nil {
		return err
	}
	for _, f := range strings.Split(files, "\n") {
		data, err := os.ReadFile(filepath.Join(root, f))
		if os.IsNotExist(err) {
			continue // deleted and not committed yet
		}
		if err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, f)), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, f), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func output(dir, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}
