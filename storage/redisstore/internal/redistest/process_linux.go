package redistest

import (
	"os"
	"os/exec"
	"syscall"
)

// bind has the kernel end a server when this process ends, also when a timeout
// keeps the test from cleaning up.
func bind(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }

// The signals that stop a process where it stands, and let it go on.
var stopSignal, goOnSignal os.Signal = syscall.SIGSTOP, syscall.SIGCONT
