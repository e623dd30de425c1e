//go:build !linux

package main

import (
	"os"
	"os/exec"
)

// endWithParent does nothing, because this kernel cannot end a process with its parent. If the
// parent is killed, the processes that it started keep running.
func endWithParent(*exec.Cmd) {}

// Fleets run on Linux only: see parse.
var stopSignal, goOnSignal os.Signal = os.Interrupt, os.Interrupt
