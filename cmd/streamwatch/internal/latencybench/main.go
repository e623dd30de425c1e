package latencybench

import (
	"context"
	"fmt"
	"io"
	"os"
)

// UsageError is a mistake on the command line.
type UsageError struct{ error }

// Unwrap returns what is wrong.
func (e UsageError) Unwrap() error { return e.error }

func usageErr(err error) error { return UsageError{err} }

// Latency runs streamwatch bench latency. It writes the table to out and all else to logs. When ctx
// ends, it publishes no more posts and reports the results so far.
func Latency(ctx context.Context, env Env, out, logs io.Writer, args []string) error {
	o, err := parse(args, out)
	if err != nil {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("the path of this program: %w", err)
	}
	return measure(ctx, o, env, program, out, logs)
}
