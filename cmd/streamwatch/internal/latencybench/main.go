package latencybench

import (
	"context"
	"fmt"
	"os"

	"github.com/streamwatch/streamwatch/internal/command"
)

// About is the description of streamwatch bench latency.
const About = `Bench latency measures how long after their publication posts arrive from a detector: of this module (-detector
self), or any other that calls webhooks or speaks WebSocket. docs/latency-benchmark.md says how to measure a
service, and what a figure needs to be published.

    streamwatch bench latency -detector self -mode push
    streamwatch bench latency -listen :8081 -webhook :8082 -after 1m

The second waits for a minute, in which any detector that can watch a Mastodon server is pointed at port
8081 and given port 8082 for its webhooks.`

// Define is streamwatch bench latency. It writes the table to Out and all else to Logs. When ctx
// ends, it publishes no more posts and reports the results so far.
func Define(f *command.Flags) command.Run {
	o := define(f)
	return func(ctx context.Context, p command.Process) error {
		if err := o.check(f); err != nil {
			return command.Usage(err)
		}
		program, err := os.Executable()
		if err != nil {
			return fmt.Errorf("the path of this program: %w", err)
		}
		return measure(ctx, *o, p.Env, program, p.Out, p.Logs)
	}
}
