package redistest

import (
	"os"
	"os/exec"
	"syscall"
)

// bind makes the kernel kill a server when this process ends, even if a timeout prevents the test
// from cleaning up.
func bind(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }

// The signals that pause and resume a process.
var stopSignal, goOnSignal os.Signal = syscall.SIGSTOP, syscall.SIGCONT
