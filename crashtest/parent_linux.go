package main

import (
	"os"
	"os/exec"
	"syscall"
)

// endWithParent makes the kernel end a process when this one dies.
func endWithParent(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }

// The signals that stop a process for a while.
var stopSignal, goOnSignal os.Signal = syscall.SIGSTOP, syscall.SIGCONT
