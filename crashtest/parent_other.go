//go:build !linux

package main

import (
	"os"
	"os/exec"
)

// endWithParent does nothing where the kernel has no such service: a parent that
// is killed leaves what it started.
func endWithParent(*exec.Cmd) {}

// Fleets run on Linux only: see parse.
var stopSignal, goOnSignal os.Signal = os.Interrupt, os.Interrupt
