// Breakages proves that the tests can fail: it breaks the code in one place at
// a time, in a copy of the tree, and expects the tests of the packages named to
// turn red.
//
//	go run -C tools ./breakages          # all, from the repository's root
//	go run -C tools ./breakages cursor   # those whose name contains a word
//
// Each breakage replaces a piece of text that must stand in the file exactly
// once, so that the list can not silently rot.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "breakages:", err)
		os.Exit(1)
	}
}

func run(words []string) error {
	root, err := output("", "git", "rev-parse", "--show-toplevel")
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "breakages-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := copyTree(root, dir); err != nil {
		return err
	}
	if err := checkList(dir); err != nil {
		return err
	}
	alive, tried := 0, 0
	for _, b := range list {
		if len(words) > 0 && !strings.Contains(b.name, words[0]) {
			continue
		}
		tried++
		began := time.Now()
		red, detail, err := try(dir, b)
		if err != nil {
			return fmt.Errorf("%s: %w", b.name, err)
		}
		verdict := "red"
		if !red {
			verdict = "GREEN: no test noticed"
			alive++
		}
		fmt.Printf("%-46s %-28s %5.1fs  %s\n", b.name, b.file, time.Since(began).Seconds(), verdict)
		if red && detail != "" {
			fmt.Printf("  %s\n", detail)
		}
	}
	fmt.Printf("%d breakages, %d noticed\n", tried, tried-alive)
	if alive > 0 || tried == 0 {
		return fmt.Errorf("%d of %d breakages went unnoticed", alive, tried)
	}
	return nil
}

// checkList reports every breakage whose place is gone or is not the only one.
func checkList(dir string) error {
	var errs []error
	for _, b := range list {
		whole, err := os.ReadFile(filepath.Join(dir, b.file))
		if err != nil {
			errs = append(errs, err)
		} else if n := strings.Count(string(whole), b.old); n != 1 {
			errs = append(errs, fmt.Errorf("%s: %s has %d times %q, want once", b.name, b.file, n, b.old))
		}
	}
	return errors.Join(errs...)
}

// try breaks one place, runs the tests, and mends it again.
func try(dir string, b breakage) (red bool, detail string, err error) {
	path := filepath.Join(dir, b.file)
	whole, err := os.ReadFile(path)
	if err != nil {
		return false, "", err
	}
	broken := strings.Replace(string(whole), b.old, b.new, 1)
	if err := os.WriteFile(path, []byte(broken), 0o644); err != nil {
		return false, "", err
	}
	defer func() {
		if werr := os.WriteFile(path, whole, 0o644); err == nil {
			err = werr
		}
	}()
	if out, err := output(dir, "go", "build", "./"+filepath.Dir(b.file)); err != nil {
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
