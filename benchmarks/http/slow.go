package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"
)

// slowTask is the environment variable that makes this program the slow clients,
// "address number", in a process of their own: one process has not the open files
// for both ends of 10,000 connections where the limit is 20,000.
const slowTask = "STREAMWATCH_BENCH_HTTP_SLOW"

// runAsChild is the slow clients, if this process is to be them, until its
// standard input ends, which it does with the parent. The Go runtime raises the
// soft limit of open files to the hard one in both.
func runAsChild() bool {
	task := os.Getenv(slowTask)
	if task == "" {
		return false
	}
	var addr string
	var n int
	_, err := fmt.Sscan(task, &addr, &n)
	if err == nil {
		err = beSlow(addr, n, os.Stdin, os.Stdout)
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	return true
}

// dials bounds how many connections are opened at once, to spare the backlog.
const dials = 64

// beSlow keeps n connections that send the beginning of a request and no more;
// one that the server cuts is opened again. It says so when all are open.
func beSlow(addr string, n int, until io.Reader, said io.Writer) error {
	turn := make(chan struct{}, dials)
	opened := make(chan error, n)
	var mu sync.Mutex
	conns, ended := make([]net.Conn, n), false
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			for first := true; ; first = false {
				turn <- struct{}{}
				c, err := net.Dial("tcp", addr)
				if err == nil {
					_, err = io.WriteString(c, "GET /v1/account/me HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")
				}
				<-turn
				if first {
					opened <- err
				}
				if err != nil {
					return
				}
				mu.Lock()
				conns[i] = c
				over := ended
				mu.Unlock()
				if !over {
					io.Copy(io.Discard, c)
				}
				c.Close()
				if mu.Lock(); ended {
					mu.Unlock()
					return
				}
				mu.Unlock()
			}
		})
	}
	var errs error
	for range n {
		if err := <-opened; errs == nil {
			errs = err
		}
	}
	if errs == nil {
		fmt.Fprintln(said, "open")
		io.Copy(io.Discard, until)
	}
	mu.Lock()
	ended = true
	for _, c := range conns {
		if c != nil {
			c.Close()
		}
	}
	mu.Unlock()
	wg.Wait()
	return errs
}

// slowClients are those that another process has open to one of our servers.
type slowClients struct {
	cmd    *exec.Cmd
	end    io.WriteCloser
	served *served
}

// settles bounds the time until a server has accepted its connections, or knows
// that they are closed. It cuts them 5 s after they were opened.
const settles = 4 * time.Second

// hold opens n slow connections to a server, and tells what each costs it in
// memory: heap and stacks, without the kernel's share.
func hold(to *served, n int) (s *slowClients, each float64, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, 0, err
	}
	before := inUse()
	s = &slowClients{cmd: exec.Command(self), served: to}
	s.cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d", slowTask, to.addr, n))
	s.cmd.Stderr = os.Stderr
	if s.end, err = s.cmd.StdinPipe(); err != nil {
		return nil, 0, err
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, 0, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, 0, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err == nil && line != "open\n" {
		err = errors.New(strings.TrimSpace(line))
	}
	if err == nil {
		err = to.waitFor(func(open int) bool { return open >= n })
	}
	if err != nil {
		return nil, 0, errors.Join(fmt.Errorf("http: %d slow connections: %w", n, err), s.release())
	}
	return s, float64(inUse()-before) / float64(n), nil
}

// release ends the connections, and waits until the server knows.
func (s *slowClients) release() error {
	s.end.Close()
	err := s.cmd.Wait()
	return errors.Join(err, s.served.waitFor(func(open int) bool { return open == 0 }))
}

// waitFor waits until so many connections are open.
func (s *served) waitFor(enough func(open int) bool) error {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for began := time.Now(); !enough(int(s.open.Load())); {
		if now := <-tick.C; now.Sub(began) > settles {
			return fmt.Errorf("%d connections are open at the server after %s: is the limit of open files (ulimit -Hn) above that?", s.open.Load(), settles)
		}
	}
	return nil
}

// inUse is the process's memory in heap and stacks, after a collection, in bytes.
func inUse() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}
