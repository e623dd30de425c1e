package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
)

// flags has the flags of a command and its description for -h.
type flags struct {
	*flag.FlagSet
	about string
	takes string // what its arguments are, "" for none
}

// newFlags returns an empty set of flags for the command name. The set prints nothing; its methods
// return errors.
func newFlags(name, about string) flags {
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	return flags{FlagSet: fs, about: about}
}

// setting is a flag for a value of the configuration. It keeps the value as text.
type setting struct {
	text   string
	isBool bool
}

// String implements flag.Value.
func (s *setting) String() string { return s.text }

// Set implements flag.Value.
func (s *setting) Set(v string) error {
	s.text = v
	return nil
}

// IsBoolFlag makes package flag accept the flag without a value, as true.
func (s *setting) IsBoolFlag() bool { return s.isBool }

// setting adds a flag for the configuration value with the same name.
func (f flags) setting(name, text, usage string) {
	f.Var(&setting{text, text == "false"}, name, usage+", or $"+variableOf(name))
}

// settings returns the names of these flags.
func (f flags) settings() (names []string) {
	f.VisitAll(func(one *flag.Flag) {
		if _, ok := one.Value.(*setting); ok {
			names = append(names, one.Name)
		}
	})
	return names
}

// given returns the value of a setting from the command line or else the environment, "" if neither
// has one. from is the name of the value for errors.
func (f flags) given(name string, env func(string) (string, bool)) (text, from string) {
	f.Visit(func(one *flag.Flag) {
		if one.Name == name {
			text, from = one.Value.String(), "-"+name
		}
	})
	if from != "" {
		return text, from
	}
	if text, ok := env(variableOf(name)); ok && text != "" {
		return text, variableOf(name)
	}
	return "", ""
}

// variableOf is the environment variable of a setting.
func variableOf(name string) string { return "STREAMWATCH_" + strings.ToUpper(name) }

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
