package main

import (
	"os/exec"
	"syscall"
)

// endWithParent has the kernel end a process when this one dies.
func endWithParent(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
