//go:build !linux

package pgtest

import (
	"errors"
	"os"
	"os/exec"
)

// None of this is used: Need skips the tests, and Start fails.
var (
	stopSignal, goOnSignal      os.Signal = os.Interrupt, os.Interrupt
	fastSignal, immediateSignal os.Signal = os.Interrupt, os.Interrupt
)

type owner struct{ uid, gid int }

func serverUser() (*owner, error) { return nil, errors.New("servers run on Linux only") }

func (*owner) runAs(*exec.Cmd)  {}
func bind(*exec.Cmd, os.Signal) {}
func detach(*exec.Cmd)          {}
