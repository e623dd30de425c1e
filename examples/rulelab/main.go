// Rulelab tries the query of a filter rule before the rule is created. It prints the query's errors
// and how the query is parsed, which posts of a file match and why, and what the rule would cost.
//
//	go run ./examples/rulelab -file posts.jsonl '"moon landing" from:nasa -is:retweet'
//	go run ./examples/rulelab -file posts.jsonl -explain 2028711970206646272 'moon lang:en'
//
// The file has one post a line, in the wire format; - is the standard input. Without -file, rulelab
// uses sample posts. On a terminal the matching text is in colour, unless NO_COLOR is set. Output to a
// pipe or file is plain text. The exit status is 1 for a query with an error.
package main

import (
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/rule/query"
)

//go:embed sample.jsonl
var sample string

func main() {
	l := lab{out: os.Stdout, in: os.Stdin, colour: isTerminal(os.Stdout)}
	switch err := l.run(os.Args[1:]); {
	case errors.Is(err, flag.ErrHelp):
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "rulelab:", err)
		os.Exit(1)
	}
}

// isTerminal reports whether a person sees what is written, in colours.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// lab is one run of the command.
type lab struct {
	out    io.Writer
	in     io.Reader
	colour bool
}

var dialects = []query.Dialect{query.Union, query.V2Stream, query.V2Search, query.Web}

func (l *lab) run(args []string) error {
	flags := flag.NewFlagSet("rulelab", flag.ContinueOnError)
	flags.SetOutput(l.out)
	file := flags.String("file", "", "try it on the posts of this `file`, - for the standard input")
	dialect := flags.String("dialect", query.Union.String(), "read it as `union`, v2stream, v2search or web")
	interval := flags.Duration("interval", time.Minute, "price it at this interval")
	explain := flags.String("explain", "", "say why the post with this `id` answers or not, \"all\" for every post")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 1 {
		return fmt.Errorf("%d arguments are not allowed: want one query, in quotes", flags.NArg())
	}
	options := query.Options{Dialect: query.Dialect(len(dialects))}
	for _, d := range dialects {
		if d.String() == *dialect {
			options.Dialect = d
		}
	}
	if int(options.Dialect) == len(dialects) {
		return fmt.Errorf("-dialect %q is not allowed: want union, v2stream, v2search or web", *dialect)
	}
	program, err := l.parse(flags.Arg(0), options)
	if err != nil {
		return err
	}
	posts, done, err := l.open(*file)
	if err != nil {
		return err
	}
	defer done()
	return l.try(program, posts, *explain, *interval)
}

// open gives the posts to try; done closes their file.
func (l *lab) open(file string) (posts io.Reader, done func() error, err error) {
	nothing := func() error { return nil }
	switch file {
	case "":
		return strings.NewReader(sample), nothing, nil
	case "-":
		return l.in, nothing, nil
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, nil, err
	}
	return f, f.Close, nil
}

// parse parses the query and prints its error, or its warnings and structure.
func (l *lab) parse(text string, options query.Options) (*query.Program, error) {
	program, warnings, err := query.Parse(text, options)
	var refused *query.SyntaxError
	if errors.As(err, &refused) {
		for _, d := range refused.Errors {
			l.point(text, d, red)
		}
		return nil, fmt.Errorf("the query is refused, for %d reasons", len(refused.Errors))
	}
	if err != nil {
		return nil, err
	}
	for _, d := range warnings {
		l.point(text, d, yellow)
	}
	fmt.Fprintf(l.out, "query     %s\n", l.paint(bold, program.String()))
	if ops := program.NeedsUpstream(); len(ops) > 0 {
		names := make([]string, len(ops))
		for i, op := range ops {
			names[i] = op.Name
		}
		fmt.Fprintf(l.out, "platform  only the platform can answer %s\n", strings.Join(names, ", "))
	} else if authors := program.Authors(); len(authors) > 0 {
		fmt.Fprintf(l.out, "platform  not needed where these are watched: @%s\n", strings.Join(authors, ", @"))
	}
	return program, nil
}

// try matches the posts, prints the matching ones, and prints a summary.
func (l *lab) try(program *query.Program, posts io.Reader, explain string, interval time.Duration) error {
	fmt.Fprintln(l.out)
	explained := false
	var sum trial
	err := readPosts(posts, func(t *fetcher.Tweet) {
		e := program.Explain(t)
		sum.add(t, e.Verdict)
		switch {
		case explain == "all" || explain == t.ID:
			explained = true
			l.tree(t, e)
		case explain == "" && e.Verdict == query.Yes:
			l.post(t, e)
		}
	})
	if err != nil {
		return err
	}
	if explain != "" && !explained && explain != "all" {
		return fmt.Errorf("-explain %q: no post has that id", explain)
	}
	l.sum(&sum, interval)
	return nil
}
