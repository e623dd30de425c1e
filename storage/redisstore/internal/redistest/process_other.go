//go:build !linux

package redistest

import (
	"os"
	"os/exec"
)

// Need skips before any of this is used.
func bind(*exec.Cmd) {}

var stopSignal, goOnSignal os.Signal = os.Interrupt, os.Interrupt
