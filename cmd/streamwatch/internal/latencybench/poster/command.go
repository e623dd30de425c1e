package poster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// textPlace stands for the text in a command.
const textPlace = "{text}"

// Command posts by a command line of the shell, which ends when the post is published.
// The first line that it writes is the post's id, if any.
type Command struct {
	line string
	gap  time.Duration
}

var _ Poster = (*Command)(nil)

// NewCommand checks the line: it has {text} once or more. gap is what the user asks to
// leave between two posts, 1 s or more.
func NewCommand(line string, gap time.Duration) (*Command, error) {
	if !strings.Contains(line, textPlace) {
		return nil, fmt.Errorf("poster: command %q is not allowed: want one with %s", line, textPlace)
	}
	if gap < time.Second {
		return nil, fmt.Errorf("poster: a gap of %s between two posts by a command is not allowed: want 1s or more", gap)
	}
	return &Command{line, gap}, nil
}

// Accounts returns one account without a name: the command decides which it is.
func (*Command) Accounts() []string { return []string{""} }

// Post runs the command. The text has letters, digits, spaces and -, which no shell reads
// for anything else.
func (c *Command) Post(ctx context.Context, _ int, text string) (Posted, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	shell := []string{"sh", "-c"}
	if runtime.GOOS == "windows" {
		shell = []string{"cmd", "/c"}
	}
	cmd := exec.CommandContext(ctx, shell[0], shell[1], strings.ReplaceAll(c.line, textPlace, text))
	cmd.WaitDelay = time.Second
	var stdout, stderr beginning
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		said, _, _ := strings.Cut(strings.TrimSpace(stderr.String()), "\n")
		return Posted{}, fmt.Errorf("poster: command: %w: %s", err, said[:min(len(said), 200)])
	}
	id, _, _ := strings.Cut(strings.TrimSpace(stdout.String()), "\n")
	return Posted{ID: id[:min(len(id), 200)]}, nil
}

// beginning keeps the first bytes that are written, and drops the rest.
type beginning struct{ bytes.Buffer }

func (b *beginning) Write(p []byte) (int, error) {
	b.Buffer.Write(p[:min(len(p), max(0, 4096-b.Len()))])
	return len(p), nil
}

// Delete is not supported.
func (*Command) Delete(context.Context, string) error { return errors.ErrUnsupported }

// Limits are the user's.
func (c *Command) Limits() Limits { return Limits{Posts: 1000, Gap: c.gap, InFlight: 8} }
