package command

import (
	"context"
	"flag"
	"fmt"
	"io"
	"strings"
)

// Program is a program and its commands.
type Program struct {
	Name    string
	Summary string // a line
	Groups  []Group
	Notes   []Section // of the manual page
	// Prefix begins the names of environment variables: see Flags.Setting.
	Prefix string
}

// Group is a group of commands. Help, completion and manual leave out one without a title.
type Group struct {
	Title    string
	Commands []Command
}

// Section is a part of the manual page. Text is as Command.About.
type Section struct{ Title, Text string }

// Command is something that a program can do.
type Command struct {
	Name    string // its words, with a space between them
	Takes   string // what its arguments are, "" for none; "a|b" for one of these
	Summary string // a line
	// About has paragraphs with empty lines between them. One that is indented is shown as it is.
	// PROGRAM stands for the name of the program.
	About string
	// Define adds the flags, and returns what runs after they are set.
	Define func(*Flags) Run
}

// Run runs a command.
type Run func(ctx context.Context, p Process) error

// Process is what a command uses of the system.
type Process struct {
	Env  func(string) (string, bool)
	Out  io.Writer // stdout: the result of the command
	Logs io.Writer // stderr: the rest
}

// UsageError is a mistake on the command line or in a file that it names.
type UsageError struct{ error }

// Unwrap returns the error without the mark of a mistake.
func (e UsageError) Unwrap() error { return e.error }

// Usage marks an error as a UsageError. It returns nil for nil.
func Usage(err error) error {
	if err == nil {
		return nil
	}
	return UsageError{err}
}

// Usagef is Usage of fmt.Errorf.
func Usagef(format string, args ...any) error { return UsageError{fmt.Errorf(format, args...)} }

// Run runs the command that args begin with. It returns flag.ErrHelp after it has printed help, and an
// error if the command could not write to p.Out.
func (g *Program) Run(ctx context.Context, p Process, args []string) error {
	out := &output{w: p.Out}
	p.Out = out
	err := g.run(ctx, p, args)
	if (err == nil || err == flag.ErrHelp) && out.err != nil {
		return fmt.Errorf("what was asked for is done, but the output cannot be written: %w", out.err)
	}
	return err
}

func (g *Program) run(ctx context.Context, p Process, args []string) error {
	if len(args) == 0 {
		g.help(p.Logs)
		return Usagef("command is missing: want one of these")
	}
	switch first := args[0]; {
	case first == "-h" || first == "-help" || first == "--help" || first == "help" && len(args) == 1:
		g.help(p.Out)
		return flag.ErrHelp
	case first == "help":
		args = append(args[1:len(args):len(args)], "-h")
	case first == "-v" || first == "--version" || first == "-version":
		args = append([]string{"version"}, args[1:]...)
	case first == "complete": // a shell calls it
		g.complete(p.Out, args[1:])
		return nil
	}
	c, rest, ok := g.find(args)
	if !ok {
		return Usagef("command %.40q is not known: the nearest is %q, and %s help lists all", args[0], Nearest(args[0], g.names()), g.Name)
	}
	f, run := g.define(c)
	if err := f.parse(rest); err == flag.ErrHelp {
		f.help(p.Out)
		return err
	} else if err != nil {
		return UsageError{err}
	}
	return run(ctx, p)
}

// define returns the flags of a command, and what runs after they are set.
func (g *Program) define(c Command) (*Flags, Run) {
	f := newFlags(g, c)
	return f, c.Define(f)
}

// visible calls f for each command of a group with a title.
func (g *Program) visible(f func(Command)) {
	for _, group := range g.Groups {
		for _, c := range group.Commands {
			if group.Title != "" {
				f(c)
			}
		}
	}
}

func (g *Program) names() []string {
	all := []string{"help"}
	g.visible(func(c Command) { all = append(all, c.Name) })
	return all
}

// find returns the command whose name args begin with. rest has the other arguments.
func (g *Program) find(args []string) (c Command, rest []string, ok bool) {
	for _, group := range g.Groups {
		for _, c := range group.Commands {
			words := strings.Fields(c.Name)
			if len(args) >= len(words) && strings.Join(args[:len(words)], " ") == c.Name {
				return c, args[len(words):], true
			}
		}
	}
	return Command{}, nil, false
}

// output notes the first error of a writer.
type output struct {
	w   io.Writer
	err error
}

func (o *output) Write(b []byte) (int, error) {
	n, err := o.w.Write(b)
	if o.err == nil {
		o.err = err
	}
	return n, err
}
