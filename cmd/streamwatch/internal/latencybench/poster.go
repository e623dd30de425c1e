package latencybench

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/cmd/streamwatch/internal/latencybench/fakeserver"
)

// poster publishes posts. Its methods are safe for concurrent use.
type poster interface {
	// Accounts returns the names of the accounts that it posts as; "" means an unknown name.
	Accounts() []string
	// Post publishes a text as one of the accounts. It returns when the post is published.
	Post(ctx context.Context, account int, text string) error
	Limits() limits
}

// limits bound what a run may ask of a platform.
type limits struct {
	posts    int           // in a run
	gap      time.Duration // between two posts
	inFlight int           // posts under way concurrently; with 1 the runner waits for each
}

// fake posts on the fake platform.
type fake struct{ *fakeserver.Server }

// Post publishes at once.
func (f fake) Post(_ context.Context, account int, text string) error {
	f.Server.Post(account, text)
	return nil
}

// Limits allow as many posts as a record may have.
func (fake) Limits() limits { return limits{posts: maxPosts, inFlight: 1} }

// textPlace is replaced by the text in a command.
const textPlace = "{text}"

// commandFor is how long a command may take.
const commandFor = 30 * time.Second

// shell posts with a shell command. The command must end when the post is published.
type shell struct {
	line string
	gap  time.Duration
}

// Accounts returns one account without a name, since the command chooses the account.
func (*shell) Accounts() []string { return []string{""} }

// Post runs the command. The text has only letters, digits, spaces and -, which have no special meaning
// in a shell.
func (c *shell) Post(ctx context.Context, _ int, text string) error {
	ctx, cancel := context.WithTimeout(ctx, commandFor)
	defer cancel()
	sh := []string{"sh", "-c"}
	if runtime.GOOS == "windows" {
		sh = []string{"cmd", "/c"}
	}
	cmd := exec.CommandContext(ctx, sh[0], sh[1], strings.ReplaceAll(c.line, textPlace, text))
	cmd.WaitDelay = time.Second
	var stderr beginning
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		said, _, _ := strings.Cut(strings.TrimSpace(stderr.String()), "\n")
		return fmt.Errorf("command: %w: %s", err, said[:min(len(said), 200)])
	}
	return nil
}

// beginning keeps the first bytes written to it, and drops the rest.
type beginning struct{ bytes.Buffer }

func (b *beginning) Write(p []byte) (int, error) {
	b.Buffer.Write(p[:min(len(p), max(0, 4096-b.Len()))])
	return len(p), nil
}

// Limits are the user's.
func (c *shell) Limits() limits { return limits{posts: 1000, gap: c.gap, inFlight: 8} }
