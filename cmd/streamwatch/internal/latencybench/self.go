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
		cfg := detectorConfig{Platform: platform, Webhook: webhook, Accounts: accounts, Mode: s.mode, Interval: s.interval, Store: store, Secret: string(signing), Key: string(key)}
		if s.nodes > 1 {
			cfg.Node = fmt.Sprint("bench", n)
		}
		c, said, err := start(ctx, p, cfg, stderr)
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

// start starts a process, gives it its configuration, and reads its first line.
func start(ctx context.Context, p program, cfg detectorConfig, stderr io.Writer) (*child, hello, error) {
	var said hello
	alive, kill := context.WithCancel(context.WithoutCancel(ctx)) // Ctrl-C is the runner's
	cmd := exec.CommandContext(alive, p.path, p.args...)
	cmd.Env, cmd.Stderr = append(os.Environ(), p.env...), stderr
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
	if err := json.NewEncoder(stdin).Encode(cfg); err != nil {
		return c, said, fmt.Errorf("ended before it was configured: %w", err)
	}
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
