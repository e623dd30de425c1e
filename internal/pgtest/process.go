package pgtest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// endsWithin is the maximum time in which a server that was told to end must have ended.
const endsWithin = 20 * time.Second

// process is a server's main process with its children, which only the main process starts.
type process struct {
	mu    sync.Mutex
	main  *os.Process   // nil while it is down
	ended chan struct{} // closed when main has ended and was waited for
}

func (p *process) start(cmd *exec.Cmd) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		cmd.Wait()
	}()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.main, p.ended = cmd.Process, ended
	return nil
}

// alive reports whether the main process was started and has not ended.
func (p *process) alive() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.runs()
}

// runs is alive for those that hold mu.
func (p *process) runs() bool {
	if p.main == nil {
		return false
	}
	select {
	case <-p.ended:
		p.main = nil
		return false
	default:
		return true
	}
}

// end ends the main process, which ends its children, by a signal.
func (p *process) end(sig os.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.runs() {
		return nil
	}
	if err := errors.Join(ignoreDone(p.main.Signal(sig)), p.continueAll()); err != nil {
		return err
	}
	late := time.NewTimer(endsWithin)
	defer late.Stop()
	select {
	case <-p.ended:
		p.main = nil
		return nil
	case <-late.C:
		return fmt.Errorf("process %d has not ended within %v of %v", p.main.Pid, endsWithin, sig)
	}
}

// kill ends all processes with kill -9, and returns when they have ended. All are stopped first, so
// that none sees another end.
func (p *process) kill() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.runs() {
		return nil
	}
	children, err := p.stopAll()
	if err != nil {
		return err
	}
	for _, pid := range children {
		if err := signal(pid, os.Kill); err != nil {
			return err
		}
	}
	// The stopped main process does not wait for its children, so their numbers stay theirs.
	for _, pid := range children {
		if err := awaitState(pid, dead); err != nil {
			return err
		}
	}
	if err := ignoreDone(p.main.Kill()); err != nil {
		return err
	}
	<-p.ended
	p.main = nil
	return nil
}

// pause stops all processes.
func (p *process) pause() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.runs() {
		return errDown
	}
	_, err := p.stopAll()
	return err
}

// resume lets stopped processes continue.
func (p *process) resume() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.runs() {
		return errDown
	}
	return p.continueAll()
}

var errDown = errors.New("the server is down: no signal can be sent")

// stopAll stops all processes and returns the children.
func (p *process) stopAll() (children []int, err error) {
	// The main process first: when it has stopped, it starts no more children.
	if err := ignoreDone(p.main.Signal(stopSignal)); err != nil {
		return nil, err
	}
	if err := awaitState(p.main.Pid, stopped); err != nil {
		return nil, err
	}
	children, err = childrenOf(p.main.Pid)
	if err != nil {
		return nil, err
	}
	for _, pid := range children {
		if err := signal(pid, stopSignal); err != nil {
			return nil, err
		}
	}
	for _, pid := range children {
		if err := awaitState(pid, stopped); err != nil {
			return nil, err
		}
	}
	return children, nil
}

func (p *process) continueAll() error {
	children, err := childrenOf(p.main.Pid)
	if err != nil {
		return err
	}
	for _, pid := range children {
		if err := signal(pid, goOnSignal); err != nil {
			return err
		}
	}
	return ignoreDone(p.main.Signal(goOnSignal))
}

func signal(pid int, sig os.Signal) error {
	p, err := os.FindProcess(pid)
	if err != nil {
		return ignoreDone(err)
	}
	defer p.Release()
	return ignoreDone(p.Signal(sig))
}

func ignoreDone(err error) error {
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

// The states of a process in /proc/<pid>/stat. What is dead keeps no memory or file.
const dead, stopped = "ZX", "TtZX"

func awaitState(pid int, states string) error {
	return until(endsWithin, fmt.Sprintf("process %d is in a state of %s", pid, states), func() bool {
		state, _, ok := stat(pid)
		return !ok || strings.Contains(states, state)
	})
}

// stat returns the state and the parent of a process, or false if there is no such process.
func stat(pid int) (state string, parent int, ok bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", 0, false
	}
	// The process's name, in parentheses, may have anything in it.
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) < 2 {
		return "", 0, false
	}
	parent, err = strconv.Atoi(string(fields[1]))
	return string(fields[0]), parent, err == nil
}

func childrenOf(parent int) (children []int, err error) {
	paths, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		pid, err := strconv.Atoi(filepath.Base(path))
		if err != nil {
			continue
		}
		if _, of, ok := stat(pid); ok && of == parent {
			children = append(children, pid)
		}
	}
	return children, nil
}
