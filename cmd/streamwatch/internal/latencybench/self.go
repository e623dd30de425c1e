package latencybench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/secret"
)

// Modes of finding posts.
const (
	modePolling = "polling" // each account at the interval
	modeProbes  = "probes"  // as modePolling; 10 probes a second, of 40 accounts each, also find changed accounts to poll immediately
	modePush    = "push"    // as modePolling, and with the stream of a user's home timeline
)

// modes are all of them.
var modes = []string{modePolling, modeProbes, modePush}

const (
	probeRate  = 10                     // probes a second
	perMonitor = 100                    // accounts of one monitor
	startFor   = time.Minute            // wait for a service to become ready
	stopFor    = 15 * time.Second       // wait for a service to stop before it is killed
	shortest   = 100 * time.Millisecond // interval that a monitor may have
)

// service is a process of streamwatch serve. It ends when its standard input ends, and so also when
// this process is killed.
type service struct {
	url   string
	stdin io.Closer
	kill  context.CancelFunc
	ended chan struct{} // closed when err is set
	err   error
}

// detectors are the services of -detector self.
type detectors struct {
	services []*service
	key      string // of their API
	dir      string // with their configuration; removed at the end
}

// startSelf starts the services and returns when they watch the accounts. program is the path of the
// streamwatch executable.
func startSelf(ctx context.Context, s self, program string, accounts int, platform, webhook string, signing secret.Value, logs io.Writer) (_ *detectors, err error) {
	d := &detectors{}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.stop())
		}
	}()
	if d.dir, err = os.MkdirTemp("", "streamwatch-bench-"); err != nil {
		return nil, fmt.Errorf("detector: %w", err)
	}
	config := filepath.Join(d.dir, "bench.yaml")
	text, err := yaml.Marshal(s.configuration(platform, d.dir))
	if err == nil {
		err = os.WriteFile(config, text, 0o600)
	}
	if err != nil {
		return nil, fmt.Errorf("detector: %w", err)
	}
	if d.key, err = issueKey(ctx, program, config, logs); err != nil {
		return nil, fmt.Errorf("detector: cannot issue a key: %w", err)
	}
	for n := range s.nodes {
		one, err := start(ctx, program, config, logs)
		if err != nil {
			return nil, fmt.Errorf("detector %d: %w", n+1, err)
		}
		d.services = append(d.services, one)
	}
	if err := d.watch(ctx, enginetest.AccountNames(accounts), webhook, signing); err != nil {
		return nil, fmt.Errorf("detector: cannot create monitors: %w", err)
	}
	return d, nil
}

// configuration is that of streamwatch serve.
func (s *self) configuration(platform, dir string) map[string]any {
	source := map[string]any{"name": "bench", "kind": "mastodon", "url": platform}
	switch s.mode {
	case modeProbes:
		source["probe"] = probeRate
	case modePush:
		source["stream"], source["token"] = true, "bench" // the fake platform takes any token
	}
	db := s.store
	if db == "sqlite" {
		db = filepath.Join(dir, "bench.db")
	}
	return map[string]any{
		"addr": "127.0.0.1:0", "db": db, "log": "json", "drain": "0s", "stop-time": "10s",
		"allow-private": true, // the receiver is on loopback or a private network
		"interval":      s.interval.String(), "min-interval": s.interval.String(), "sources": []any{source},
	}
}

// streamwatch returns a command that runs streamwatch with the configuration. It removes the settings in
// the environment, which would have precedence over the configuration.
func streamwatch(ctx context.Context, program, config string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, append(args, "-config", config)...)
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "STREAMWATCH_") })
	cmd.WaitDelay = time.Second
	return cmd
}

var issuedKey = regexp.MustCompile(`(?m)^key +(\S+)$`)

// issueKey issues a key with credits for any run.
func issueKey(ctx context.Context, program, config string, logs io.Writer) (string, error) {
	cmd := streamwatch(ctx, program, config, "key", "-owner", "bench", "-credits", "1000000000")
	cmd.Stderr = logs
	out, err := cmd.Output()
	if err != nil {
		return "", err
	}
	m := issuedKey.FindSubmatch(out)
	if m == nil {
		return "", errors.New("the command key printed none")
	}
	return string(m[1]), nil
}

// start starts a service, and returns when it serves.
func start(ctx context.Context, program, config string, logs io.Writer) (*service, error) {
	alive, kill := context.WithCancel(context.WithoutCancel(ctx)) // Ctrl-C is the runner's
	cmd := streamwatch(alive, program, config, "bench", "detector")
	s := &service{kill: kill, ended: make(chan struct{})}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		kill()
		return nil, err
	}
	s.stdin = stdin
	log, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		kill()
		return nil, err
	}
	serving := make(chan string, 1)
	go func() {
		defer close(s.ended)
		follow(log, serving, logs)
		s.err = cmd.Wait()
	}()
	select {
	case s.url = <-serving:
		return s, nil
	case <-s.ended:
	case <-ctx.Done():
	case <-time.After(startFor):
	}
	return nil, errors.Join(errors.New("the service was not ready"), ctx.Err(), s.stop())
}

// follow reads the log of a service to its end. It sends the service's address to serving, and copies
// all lines to to except those of level INFO.
func follow(log io.Reader, serving chan<- string, to io.Writer) {
	lines := bufio.NewReader(log)
	for {
		line, err := lines.ReadBytes('\n')
		var entry struct{ Level, Msg, Address string }
		switch {
		case json.Unmarshal(line, &entry) == nil && entry.Msg == "serving":
			serving <- entry.Address
		case entry.Level != "INFO":
			_, _ = to.Write(line)
		}
		if err != nil {
			return
		}
	}
}

// stop ends a service and waits for it.
func (s *service) stop() error {
	_ = s.stdin.Close() // one that is gone has closed it
	defer time.AfterFunc(stopFor, s.kill).Stop()
	<-s.ended
	s.kill()
	return s.err
}

// watch creates monitors, which all of the services share.
func (d *detectors) watch(ctx context.Context, names []string, webhook string, signing secret.Value) error {
	for some := range slices.Chunk(names, perMonitor) {
		body, err := json.Marshal(map[string]any{"name": "from " + some[0], "usernames": some, "webhook_url": webhook, "webhook_secret": string(signing)})
		if err != nil {
			return err
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, d.services[0].url+"/v1/social/stream/monitors", bytes.NewReader(body))
		if err != nil {
			return err
		}
		req.Close = true
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("X-Api-Key", d.key)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 1000))
		resp.Body.Close()
		if resp.StatusCode != http.StatusCreated {
			return fmt.Errorf("%s: %s", resp.Status, bytes.TrimSpace(text))
		}
	}
	return nil
}

// stop ends the services, all at once.
func (d *detectors) stop() error {
	var errs []error
	for _, s := range d.services {
		_ = s.stdin.Close()
	}
	for _, s := range d.services {
		if err := s.stop(); err != nil {
			errs = append(errs, fmt.Errorf("detector: %w", err))
		}
	}
	if d.dir != "" {
		errs = append(errs, os.RemoveAll(d.dir))
	}
	return errors.Join(errs...)
}
