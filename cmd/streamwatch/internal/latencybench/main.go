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

// Latency is streamwatch bench latency. The table goes to out, the rest to logs. When
// ctx ends, it posts no more and reports what it has.
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
