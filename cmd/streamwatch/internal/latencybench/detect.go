package latencybench

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/cmd/streamwatch/internal/latencybench/detector"
	"github.com/streamwatch/streamwatch/secret"
)

// Detector is streamwatch bench detector: this module's engine as -detector self starts
// it, or by hand on another machine than the runner's. Its first line on out is JSON,
// with where it serves WebSocket clients or why it cannot begin. With -until-eof it runs
// until in ends, whatever ctx does.
func Detector(ctx context.Context, env Env, in io.Reader, out, logs io.Writer, args []string) error {
	var cfg detector.Config
	var untilEOF bool
	fs := flag.NewFlagSet("streamwatch bench detector", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.Usage = func() {}
	fs.StringVar(&cfg.Platform, "platform", "", "`URL` of the fake platform, as streamwatch bench latency prints it")
	fs.StringVar(&cfg.Webhook, "webhook", "", "`URL` of the receiver, as streamwatch bench latency prints it")
	fs.IntVar(&cfg.Accounts, "accounts", 20, "accounts of the platform, 1 to 10000")
	fs.StringVar(&cfg.Mode, "mode", detector.Polling, "how posts are found: "+strings.Join(detector.Modes, ", "))
	fs.DurationVar(&cfg.Interval, "interval", time.Second, "time between two polls of an account, 50ms to 1h")
	fs.StringVar(&cfg.Store, "store", "memory", "memory, the path of a SQLite file, or a redis:// `URL`")
	fs.StringVar(&cfg.Node, "node", "", "its `name` in a fleet on the store")
	fs.BoolVar(&untilEOF, "until-eof", false, "end when the standard input does")
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			fmt.Fprintf(out, "Run the detector of streamwatch bench latency, with the secret in %s.\n\n", secretVariable)
			fs.SetOutput(out)
			fs.PrintDefaults()
			return err
		}
		return usageErr(err)
	}
	if fs.NArg() > 0 || cfg.Platform == "" || cfg.Webhook == "" {
		return usageErr(errors.New("want -platform and -webhook, and flags only"))
	}
	if err := cfg.Check(); err != nil {
		return usageErr(err)
	}
	signing, _ := env(secretVariable)
	key, _ := env(keyVariable)
	cfg.Secret, cfg.Key = secret.Value(signing), secret.Value(key)
	cfg.Logger = slog.New(slog.NewTextHandler(logs, &slog.HandlerOptions{Level: slog.LevelWarn}))
	say := json.NewEncoder(out)
	run := func(ctx context.Context) error {
		err := detector.Run(ctx, cfg, func(websocket string) { _ = say.Encode(hello{WebSocket: websocket}) })
		if err != nil {
			_ = say.Encode(hello{Error: err.Error()})
		}
		return err
	}
	if !untilEOF {
		return run(ctx)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	_, _ = io.Copy(io.Discard, in) // its end is what counts
	cancel()
	return <-ended
}
