package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// process is the environment and the outputs that a command uses.
type process struct {
	env  func(string) (string, bool)
	out  io.Writer // stdout: the result of the command
	logs io.Writer // stderr: the rest
}

// command is something that the program can do.
type command struct {
	name    string // its words, with a space between them
	summary string
	run     func(ctx context.Context, p process, args []string) error
}

// commands are all commands of the program, in the order of the command help.
var commands = []command{
	{"serve", "run the service until it is told to stop", runServe},
	{"check", "explain what a configuration has serve do, and what is wrong or missing", runCheck},
	{"key", "issue a key, also while the service runs", runAdmin("key")},
	{"keys", "list an owner's keys", runAdmin("keys")},
	{"revoke", "revoke a key", runAdmin("revoke")},
	{"credits", "give an owner credits", runAdmin("credits")},
	{"backup", "copy the SQLite file, also while the service runs", runBackup},
	{"copy", "copy a store to a new one of any kind, while the service is stopped", runCopy},
	{"reseal", "encrypt the secrets of webhooks with another key", runReseal},
	{"erase", "forget an owner, while the service is stopped", runErase},
	{"watch", "print the posts of accounts as they are found", runWatch},
	{"bench latency", "measure how late posts arrive from any detector", runBenchLatency},
	{"bench detector", "serve until the standard input ends, as bench latency has it do", runBenchDetector},
	{"version", "say which version this is", runVersion},
}

// usageError is a mistake on the command line or in a file that it names: see exitConfig.
type usageError struct{ error }

// Unwrap returns the error without the mark of a mistake.
func (e usageError) Unwrap() error { return e.error }

// run runs the command that args begin with.
func run(ctx context.Context, p process, args []string) error {
	if len(args) == 0 {
		help(p.logs)
		return usageError{fmt.Errorf("command is missing: want one of %s", names())}
	}
	if args[0] == "-h" || args[0] == "-help" || args[0] == "--help" {
		help(p.out)
		return flag.ErrHelp
	}
	if args[0] == "help" {
		if len(args) == 1 {
			help(p.out)
			return flag.ErrHelp
		}
		args = append(args[1:len(args):len(args)], "-h")
	}
	c, rest, ok := find(args)
	if !ok {
		return usageError{fmt.Errorf("command %.40q is not allowed: want one of %s", args[0], names())}
	}
	return c.run(ctx, p, rest)
}

// find returns the command whose name args begin with. rest has the other arguments.
func find(args []string) (c command, rest []string, ok bool) {
	for _, c := range commands {
		words := strings.Fields(c.name)
		if len(args) >= len(words) && strings.Join(args[:len(words)], " ") == c.name {
			return c, args[len(words):], true
		}
	}
	return command{}, nil, false
}

func names() string {
	all := make([]string, 0, len(commands)+1)
	for _, c := range commands {
		all = append(all, c.name)
	}
	return strings.Join(append(all, "help"), ", ")
}

// help lists the commands.
func help(w io.Writer) {
	fmt.Fprint(w, "Streamwatch watches social accounts and delivers what they post.\n\nUsage:\n\n    streamwatch command [flags]\n\nCommands:\n\n")
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	for _, c := range commands {
		fmt.Fprintf(t, "    %s\t%s\n", c.name, c.summary)
	}
	t.Flush()
	fmt.Fprint(w, "\nstreamwatch command -h lists the flags of a command.\n")
}
