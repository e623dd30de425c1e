package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// benthos is the contestant that is a program of its own: see the directory of this name.
const benthos = "benthos"

// buildBenthos builds it in dir if it is asked for, and returns its file. Where it cannot be
// built, it leaves the contestants and that is said: it needs modules that nothing else does.
func (o *options) buildBenthos(dir string) (file string) {
	if !slices.Contains(o.impls, benthos) {
		return ""
	}
	file = filepath.Join(dir, benthos)
	err := errors.New("its source is not there")
	if _, here, _, ok := runtime.Caller(0); ok {
		cmd := exec.Command("go", "build", "-o", file, ".")
		cmd.Dir = filepath.Join(filepath.Dir(here), benthos)
		var out []byte
		if out, err = cmd.CombinedOutput(); err != nil {
			err = fmt.Errorf("%w: %s", err, strings.TrimSpace(string(out)))
		}
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "SKIPPED: benthos: it cannot be built: %v\n", err)
		o.impls = slices.DeleteFunc(slices.Clone(o.impls), func(name string) bool { return name == benthos })
	}
	return file
}
