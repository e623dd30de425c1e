package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// process is one life of the process under test.
type process struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	asks    *json.Encoder
	replies chan reply // closed when the process has ended and all replies were read
	stderr  bytes.Buffer
	started time.Time
	killed  bool // kill was called
}

// startProcess runs this binary again as the process under test.
func startProcess(cfg childConfig) (*process, error) {
	setting, err := json.Marshal(cfg)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &process{cmd: exec.Command(self), replies: make(chan reply, 1024)}
	p.cmd.Env = append(os.Environ(), childVariable+"="+string(setting))
	p.cmd.Stderr = &p.stderr
	endWithParent(p.cmd)
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.asks = json.NewEncoder(p.in)
	p.started = time.Now()
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go p.listen(out)
	return p, nil
}

// listen passes on the lines of the process. After a kill the pipe still has the lines that the
// process wrote before.
func (p *process) listen(out io.Reader) {
	defer close(p.replies)
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		var r reply
		if json.Unmarshal(lines.Bytes(), &r) == nil { // else a line cut by the kill
			p.replies <- r
		}
	}
}

// ask sends an operation. If that fails, the process has ended and replies will be closed.
func (p *process) ask(o op) { _ = p.asks.Encode(o) }

func (p *process) lines() <-chan reply { return p.replies }

// stop pauses the process until resume.
func (p *process) stop()   { _ = p.cmd.Process.Signal(stopSignal) }
func (p *process) resume() { _ = p.cmd.Process.Signal(goOnSignal) }

func (p *process) kill() {
	p.killed = true
	_ = p.cmd.Process.Kill() // fails only if it has ended
}

// end is how a process ended.
type end struct {
	signaled bool   // by SIGKILL
	trouble  string // what went wrong when it ended by itself, "" for nothing
}

// wait waits for the end, once replies is closed.
func (p *process) wait() end {
	err := p.cmd.Wait()
	_ = p.in.Close() // closed already by the end
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if ws, ok := exit.Sys().(syscall.WaitStatus); ok && ws.Signaled() && ws.Signal() == syscall.SIGKILL {
			return end{signaled: true}
		}
	}
	if err != nil {
		return end{trouble: fmt.Sprintf("%v: %s", err, tail(p.stderr.String(), 1000))}
	}
	return end{}
}

// tail is the last bytes of a text.
func tail(s string, n int) string { return s[max(0, len(s)-n):] }
