package latencybench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/streamwatch/streamwatch/secret"
)

const (
	startFor = time.Minute      // until a detector is ready
	stopFor  = 15 * time.Second // until one that is to stop is killed
)

// child is a detector's process. It ends when its standard input does, also when this
// process is killed.
type child struct {
	cmd   *exec.Cmd
	stdin io.Closer
	kill  context.CancelFunc
}

// hello is the first line that a detector writes.
type hello struct {
	WebSocket string `json:"websocket,omitempty"`
	Error     string `json:"error,omitempty"`
}

// program says how to start this program again as a detector.
type program struct {
	path string
	args []string
	env  []string
}

// detectors are the processes of -detector self.
type detectors struct {
	children  []*child
	websocket string // where the first serves WebSocket clients
	dir       string // removed at the end
}

// startSelf starts the detector, and returns when it looks for posts.
func startSelf(ctx context.Context, s self, p program, accounts int, platform, webhook string, signing, key secret.Value, stderr io.Writer) (_ *detectors, err error) {
	d := &detectors{}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.stop())
		}
	}()
	store := s.store
	if store == "sqlite" {
		if d.dir, err = os.MkdirTemp("", "streamwatch-bench-"); err != nil {
			return nil, fmt.Errorf("detector: %w", err)
		}
		store = filepath.Join(d.dir, "bench.db")
	}
	for n := 1; n <= s.nodes; n++ {
		args := append(append([]string{}, p.args...), "-platform", platform, "-webhook", webhook, "-accounts", strconv.Itoa(accounts),
			"-mode", s.mode, "-interval", s.interval.String(), "-store", store, "-until-eof")
		if s.nodes > 1 {
			args = append(args, "-node", fmt.Sprint("bench", n))
		}
		env := append(os.Environ(), append(p.env, secretVariable+"="+string(signing), keyVariable+"="+string(key))...)
		c, said, err := start(ctx, p.path, args, env, stderr)
		if c != nil {
			d.children = append(d.children, c)
		}
		if err != nil {
			return nil, fmt.Errorf("detector %d: %w", n, err)
		}
		if n == 1 {
			d.websocket = said.WebSocket
		}
	}
	return d, nil
}

// start starts a process and reads its first line.
func start(ctx context.Context, path string, args, env []string, stderr io.Writer) (*child, hello, error) {
	var said hello
	alive, kill := context.WithCancel(context.WithoutCancel(ctx)) // Ctrl-C is the runner's
	cmd := exec.CommandContext(alive, path, args...)
	cmd.Env, cmd.Stderr = env, stderr
	cmd.WaitDelay = time.Second
	stdin, err := cmd.StdinPipe()
	if err != nil {
		kill()
		return nil, said, err
	}
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		kill()
		return nil, said, err
	}
	c := &child{cmd, stdin, kill}
	late := time.AfterFunc(startFor, kill)
	defer late.Stop()
	line, err := bufio.NewReader(io.LimitReader(stdout, 64<<10)).ReadBytes('\n')
	if err != nil {
		return c, said, fmt.Errorf("ended before it was ready: %w", err)
	}
	if err := json.Unmarshal(line, &said); err != nil {
		return c, said, fmt.Errorf("first line: %w", err)
	}
	if said.Error != "" {
		return c, said, errors.New(said.Error)
	}
	return c, said, nil
}

// stop ends the processes and waits for them.
func (d *detectors) stop() error {
	var errs []error
	for _, c := range d.children {
		_ = c.stdin.Close() // one that is gone has closed it
	}
	for _, c := range d.children {
		late := time.AfterFunc(stopFor, c.kill)
		if err := c.cmd.Wait(); err != nil {
			errs = append(errs, fmt.Errorf("detector: %w", err))
		}
		late.Stop()
		c.kill()
	}
	if d.dir != "" {
		errs = append(errs, os.RemoveAll(d.dir))
	}
	return errors.Join(errs...)
}
