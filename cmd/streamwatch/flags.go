package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// flags are those of a command, with what -h says of it.
type flags struct {
	*flag.FlagSet
	about string
	takes string // what its arguments are, "" for none
}

// newFlags returns an empty set of flags for the command name. The set prints nothing by
// itself: the errors of its methods say what is wrong.
func newFlags(name, about string) flags {
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	return flags{FlagSet: fs, about: about}
}

// origins says where each flag has its value from, as an error calls it: "-addr",
// "STREAMWATCH_ADDR" or "config.yaml:3: addr". Flags with their default are left out.
type origins map[string]string

// called is what an error calls a flag.
func (o origins) called(name string) string {
	if from := o[name]; from != "" {
		return from
	}
	return "-" + name
}

// envPrefix begins the names of the environment variables.
const envPrefix = "STREAMWATCH_"

// variable is the environment variable of a flag: STREAMWATCH_OPS_ADDR is -ops-addr.
func variable(name string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

// fill sets the flags from the command line, which must have no arguments, and those that
// it leaves out from the environment.
func (f flags) fill(p process, args []string) (origins, error) {
	if err := f.parse(p, args); err != nil {
		return nil, err
	}
	from := origins{}
	f.Visit(func(one *flag.Flag) { from[one.Name] = "-" + one.Name })
	var errs []error
	f.VisitAll(func(one *flag.Flag) {
		text, ok := p.env(variable(one.Name))
		values := []string{text}
		if _, list := one.Value.(*texts); list {
			values = strings.Fields(text)
		}
		if !ok || from[one.Name] != "" || len(values) == 0 {
			return
		}
		from[one.Name] = variable(one.Name)
		for _, v := range values {
			if err := f.set(one, v); err != nil {
				errs = append(errs, fmt.Errorf("%s %w", variable(one.Name), err))
			}
		}
	})
	if err := errors.Join(errs...); err != nil {
		return from, usageError{err}
	}
	return from, nil
}

// set sets a flag. Unlike that of package flag, its error says which values are allowed.
func (f flags) set(one *flag.Flag, text string) error {
	err := one.Value.Set(text)
	if err == nil {
		return nil
	}
	want := ""
	if g, ok := one.Value.(flag.Getter); ok {
		switch g.Get().(type) {
		case time.Duration:
			want = "a duration such as 1m30s"
		case bool:
			want = "true or false"
		case int, int64:
			want = "a whole number"
		case float64:
			want = "a number"
		case *slog.Level:
			want = "debug, info, warn or error"
		}
	}
	if want == "" { // the flag's own function has said it
		return fmt.Errorf("%q is not allowed: %w", text, err)
	}
	return fmt.Errorf("%q is not allowed: want %s", text, want)
}

// texts are the values of a flag that may be given several times.
type texts []string

// String implements flag.Value.
func (t *texts) String() string { return strings.Join(*t, " ") }

// Set implements flag.Value.
func (t *texts) Set(v string) error {
	*t = append(*t, v)
	return nil
}

// parse reads the command line of a command without arguments.
func (f flags) parse(p process, args []string) error {
	rest, err := f.parseAll(p, args)
	if err == nil && len(rest) > 0 {
		return usageError{fmt.Errorf("argument %q is not allowed: want flags only", rest[0])}
	}
	return err
}

// parseAll reads flags and arguments in any order, and returns the arguments.
func (f flags) parseAll(p process, args []string) (rest []string, err error) {
	for {
		if err := f.Parse(args); errors.Is(err, flag.ErrHelp) {
			f.help(p.out)
			return nil, err
		} else if err != nil {
			return nil, usageError{f.refusal(err)}
		}
		if f.NArg() == 0 {
			return rest, nil
		}
		rest, args = append(rest, f.Arg(0)), f.Args()[1:]
	}
}

// notAllowed matches the error of package flag for a value that is not allowed.
var notAllowed = regexp.MustCompile(`^invalid (?:boolean )?value ("(?:[^"\\]|\\.)*") for (?:flag )?-([^:]+): `)

// refusal rewords err, an error of Parse, so that it says which values are allowed.
func (f flags) refusal(err error) error {
	m := notAllowed.FindStringSubmatch(err.Error())
	if m == nil {
		return err
	}
	text, badQuotes := strconv.Unquote(m[1])
	if one := f.Lookup(m[2]); one != nil && badQuotes == nil {
		if again := f.set(one, text); again != nil {
			return fmt.Errorf("-%s %w", one.Name, again)
		}
	}
	return err
}

// help prints what -h asks for.
func (f flags) help(w io.Writer) {
	fmt.Fprintf(w, "%s\n\n    streamwatch %s\n\n", f.about, strings.TrimSpace(f.Name()+" [flags] "+f.takes))
	f.SetOutput(w)
	f.PrintDefaults()
}
