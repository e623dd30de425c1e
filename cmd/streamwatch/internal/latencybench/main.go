package latencybench

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/streamwatch/streamwatch/cmd/streamwatch/internal/latencybench/receipt"
	"github.com/streamwatch/streamwatch/cmd/streamwatch/internal/latencybench/report"
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
	executable, err := os.Executable()
	if err != nil {
		return fmt.Errorf("the path of this program: %w", err)
	}
	return measure(ctx, o, env, program{path: executable, args: []string{"bench", "detector"}}, out, logs)
}

// Verify is streamwatch bench verify: it checks a record's seal, and shows the figures
// that follow from it.
func Verify(out io.Writer, args []string) error {
	var published, picture, title string
	fs := flag.NewFlagSet("streamwatch bench verify", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.Usage = func() {}
	fs.StringVar(&published, "json", "", "the figures that are said to follow from the receipts, a `file`: they have to")
	fs.StringVar(&picture, "svg", "", "write a picture to this `file`")
	fs.StringVar(&title, "title", "", "of the picture (default: that of the run)")
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			fmt.Fprint(out, "Check receipts of streamwatch bench latency and show what follows from them:\n\n    streamwatch bench verify [flags] FILE\n\n")
			fs.SetOutput(out)
			fs.PrintDefaults()
			return err
		}
		return usageErr(err)
	}
	if fs.NArg() != 1 {
		return usageErr(fmt.Errorf("%d files are not allowed: want one, of receipts", fs.NArg()))
	}
	f, err := os.Open(fs.Arg(0))
	if err != nil {
		return err
	}
	defer f.Close()
	rec, err := receipt.Read(f)
	if err != nil {
		return err
	}
	r := report.Of(rec)
	fmt.Fprintf(out, "sealed by key %s, %s\n", r.Key, r.Started.UTC().Format("2006-01-02 15:04:05 MST"))
	if published != "" {
		b, err := os.ReadFile(published)
		if err != nil {
			return err
		}
		same, err := r.Is(b)
		if err != nil {
			return err
		}
		if !same {
			return fmt.Errorf("%s has other figures than those that follow from %s", published, fs.Arg(0))
		}
		fmt.Fprintf(out, "%s has the figures that follow\n", published)
	}
	if title == "" {
		title = r.Settings["title"]
	}
	if picture != "" {
		if err := writeFile(picture, func(w io.Writer) error { return r.WriteSVG(w, title) }); err != nil {
			return err
		}
	}
	return r.WriteText(out)
}

// writeFile writes a file, or leaves what was there if write fails.
func writeFile(path string, write func(io.Writer) error) error {
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return err
	}
	return os.WriteFile(path, b.Bytes(), 0o644)
}
