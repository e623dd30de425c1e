package pgtest

import (
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
)

// The signals of a server. immediate has it end its children and clean up, without a checkpoint.
var (
	stopSignal, goOnSignal      os.Signal = syscall.SIGSTOP, syscall.SIGCONT
	fastSignal, immediateSignal os.Signal = syscall.SIGINT, syscall.SIGQUIT
)

// owner is the user that servers run as, or nil if it is this process's user.
type owner struct{ uid, gid int }

// serverUser returns an owner for root, as whom PostgreSQL does not run.
func serverUser() (*owner, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		u, err = user.Lookup("nobody")
	}
	if err != nil {
		return nil, err
	}
	uid, err := strconv.Atoi(u.Uid)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.Atoi(u.Gid)
	return &owner{uid, gid}, err
}

// runAs makes a command run as the owner.
func (o *owner) runAs(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	if o != nil {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(o.uid), Gid: uint32(o.gid)}
	}
}

// bind makes the kernel send a signal to a command that runAs was called for when this process ends,
// even if a timeout prevents the test from cleaning up.
func bind(cmd *exec.Cmd, sig os.Signal) { cmd.SysProcAttr.Pdeathsig = sig.(syscall.Signal) }

// detach keeps the signals of a terminal from a command, which outlives this process.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
