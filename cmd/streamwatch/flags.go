package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
)

// flags are those of a command, with what -h says of it.
type flags struct {
	*flag.FlagSet
	about string
	takes string // what its arguments are, "" for none
}

// newFlags are the flags of the command name. What is wrong with them is told by
// the error that parse returns alone.
func newFlags(name, about string) flags {
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	return flags{FlagSet: fs, about: about}
}

// envPrefix begins the names of the environment variables.
const envPrefix = "STREAMWATCH_"

// environment sets the flags that variables name: STREAMWATCH_OPS_ADDR is -ops-addr.
func (f flags) environment(p process) (err error) {
	f.VisitAll(func(one *flag.Flag) {
		name := envPrefix + strings.ToUpper(strings.ReplaceAll(one.Name, "-", "_"))
		if v, ok := p.env(name); ok && err == nil {
			if e := one.Value.Set(v); e != nil {
				err = usageError{fmt.Errorf("%s %q is not allowed: %w", name, v, e)}
			}
		}
	})
	return err
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
			return nil, usageError{err}
		}
		if f.NArg() == 0 {
			return rest, nil
		}
		rest, args = append(rest, f.Arg(0)), f.Args()[1:]
	}
}

// help prints what -h asks for.
func (f flags) help(w io.Writer) {
	fmt.Fprintf(w, "%s\n\n    streamwatch %s\n\n", f.about, strings.TrimSpace(f.Name()+" [flags] "+f.takes))
	f.SetOutput(w)
	f.PrintDefaults()
}
