//go:build !linux

package redistest

import (
	"os"
	"os/exec"
)

// None of this is used: Need skips the tests.
func bind(*exec.Cmd) {}

var stopSignal, goOnSignal os.Signal = os.Interrupt, os.Interrupt
