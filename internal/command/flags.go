package command

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
)

// Flags are the flags of a command, and after they are set its arguments.
type Flags struct {
	*flag.FlagSet
	Args []string

	program *Program
	command Command
	wrong   error               // of the value that Set refused
	allowed map[string][]string // values, by flag
	notes   []Section
}

func newFlags(g *Program, c Command) *Flags {
	f := &Flags{FlagSet: flag.NewFlagSet(c.Name, flag.ContinueOnError), program: g, command: c, allowed: map[string][]string{}}
	f.SetOutput(io.Discard)
	return f
}

// value is a flag. A setting keeps its text: its value is read later, with that of the other places.
type value struct {
	f       *Flags
	name    string
	into    reflect.Value
	setting bool
	isBool  bool
}

// String implements flag.Value.
func (v *value) String() string {
	if v.f == nil { // package flag makes one
		return ""
	}
	return fmt.Sprint(v.into.Interface())
}

// Set implements flag.Value.
func (v *value) Set(text string) error {
	want := Parse(v.into, text)
	if allowed := v.f.allowed[v.name]; want == "" && !v.setting && allowed != nil && !slices.Contains(allowed, text) {
		want = or(allowed)
	}
	if want != "" {
		v.f.wrong = fmt.Errorf("-%s %.40q is not allowed: want %s", v.name, text, want)
	}
	return v.f.wrong
}

// IsBoolFlag makes package flag accept the flag without a value, as true.
func (v *value) IsBoolFlag() bool { return v.isBool }

// Add adds a flag for the value that into points to, which is the default: see Parse for its types.
// A word in backquotes in usage is the name of the value. With allowed values no other is taken.
func (f *Flags) Add(into any, name, usage string, allowed ...string) {
	to := reflect.ValueOf(into).Elem()
	f.Var(&value{f: f, name: name, into: to, isBool: to.Kind() == reflect.Bool}, name, usage)
	f.allow(name, allowed)
}

// Setting adds a flag whose value may also be an environment variable: the prefix and the name. See
// Given. It takes any text; values are for the completion.
func (f *Flags) Setting(name, text, usage string, values ...string) {
	f.Var(&value{f: f, name: name, into: reflect.ValueOf(&text).Elem(), setting: true, isBool: text == "false"}, name, usage)
	f.allow(name, values)
}

func (f *Flags) allow(name string, values []string) {
	if values != nil {
		f.allowed[name] = values
	}
}

// Note adds a section to help and manual.
func (f *Flags) Note(title, text string) { f.notes = append(f.notes, Section{title, text}) }

// Settings returns the names of the flags that Setting has added.
func (f *Flags) Settings() (names []string) {
	f.VisitAll(func(one *flag.Flag) {
		if v, ok := one.Value.(*value); ok && v.setting {
			names = append(names, one.Name)
		}
	})
	return names
}

// IsSet reports whether the command line has a flag.
func (f *Flags) IsSet(name string) (set bool) {
	f.Visit(func(one *flag.Flag) { set = set || one.Name == name })
	return set
}

// Given returns the value of a setting from the command line or else the environment, "" if neither
// has one. from is the name of the value for errors.
func (f *Flags) Given(name string, env func(string) (string, bool)) (text, from string) {
	if f.IsSet(name) {
		return f.Lookup(name).Value.String(), "-" + name
	}
	if text, ok := env(f.variable(name)); ok && text != "" {
		return text, f.variable(name)
	}
	return "", ""
}

// variable is the environment variable of a setting.
func (f *Flags) variable(name string) string { return f.program.Prefix + strings.ToUpper(name) }

// parse reads flags and arguments in any order.
func (f *Flags) parse(args []string) error {
	for {
		if err := f.Parse(args); err != nil {
			return f.inWords(err)
		}
		if f.NArg() == 0 {
			break
		}
		f.Args, args = append(f.Args, f.Arg(0)), f.FlagSet.Args()[1:]
	}
	if f.command.Takes == "" && len(f.Args) > 0 {
		return fmt.Errorf("argument %.40q is not allowed: want flags only", f.Args[0])
	}
	if of := strings.Split(f.command.Takes, "|"); len(of) > 1 && (len(f.Args) != 1 || !slices.Contains(of, f.Args[0])) {
		return fmt.Errorf("argument %.40q is not allowed: want %s", strings.Join(f.Args, " "), or(of))
	}
	return nil
}

// inWords returns the error of package flag with what is wanted.
func (f *Flags) inWords(err error) error {
	if f.wrong != nil {
		return f.wrong
	}
	name, unknown := strings.CutPrefix(err.Error(), "flag provided but not defined: -")
	if !unknown {
		return err
	}
	var names []string
	f.VisitAll(func(one *flag.Flag) { names = append(names, one.Name) })
	if names == nil {
		return fmt.Errorf("flag -%.40s is not known: want none", name)
	}
	return fmt.Errorf("flag -%.40s is not known: the nearest is -%s, and %s %s -h lists all", name, Nearest(name, names), f.program.Name, f.command.Name)
}

// Require returns a UsageError if a flag has no value; want says what it is.
func (f *Flags) Require(name, want string) error {
	if f.Lookup(name).Value.String() == "" {
		return Usage(errors.New("-" + name + " is missing: want " + want))
	}
	return nil
}

// or lists texts: "a, b or c".
func or(texts []string) string {
	last := len(texts) - 1
	if last < 1 {
		return strings.Join(texts, "")
	}
	return strings.Join(texts[:last], ", ") + " or " + texts[last]
}
