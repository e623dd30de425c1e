package main

import (
	"context"

	"github.com/streamwatch/streamwatch/cmd/streamwatch/internal/latencybench"
	"github.com/streamwatch/streamwatch/internal/command"
)

// process is what a command uses of the system.
type process = command.Process

// run runs the command that args begin with.
func run(ctx context.Context, p process, args []string) error { return program.Run(ctx, p, args) }

// program has all commands, in the order of the help.
var program = command.Program{
	Name:    "streamwatch",
	Summary: "Streamwatch watches social accounts and delivers what they post.",
	Prefix:  "STREAMWATCH_",
	Groups: []command.Group{
		{Title: "Watch", Commands: []command.Command{
			{Name: "serve", Summary: "run the service until it is told to stop", About: serveAbout, Define: defineServe},
			{Name: "status", Summary: "print what runs, fails and is owned, also while the service runs", About: statusAbout, Define: defineStatus},
			{Name: "check", Summary: "print what serve would do, and what is wrong or missing", About: checkAbout, Define: defineCheck},
			{Name: "watch", Takes: "ACCOUNT...", Summary: "print the posts of accounts as they are found; needs no setup", About: watchAbout, Define: defineWatch},
		}},
		{Title: "Keys and credits, also while the service runs", Commands: []command.Command{
			{Name: "key", Summary: "issue a key", About: keyAbout, Define: defineKey},
			{Name: "keys", Summary: "list an owner's keys", About: "Keys lists the keys of an owner. None is shown in full.", Define: defineKeys},
			{Name: "revoke", Summary: "revoke a key", About: "Revoke revokes a key: a service on the same store refuses it within a second.", Define: defineRevoke},
			{Name: "credits", Summary: "give an owner credits", About: "Credits gives credits to an owner, or takes some that were given by mistake.", Define: defineCredits},
		}},
		{Title: "Store", Commands: []command.Command{
			{Name: "backup", Summary: "copy the SQLite file, also while the service runs", About: backupAbout, Define: defineBackup},
			{Name: "copy", Summary: "copy a store to a new one of any kind, the service being stopped", About: copyAbout, Define: defineCopy},
			{Name: "reseal", Summary: "encrypt the secrets of webhooks with another key", About: resealAbout, Define: defineReseal},
			{Name: "erase", Summary: "forget an owner, the service being stopped", About: eraseAbout, Define: defineErase},
		}},
		{Title: "More", Commands: []command.Command{
			{Name: "bench latency", Summary: "measure how late posts arrive from any detector", About: latencybench.About, Define: defineBench},
			{Name: "version", Summary: "say which version this is", About: "Version prints the module's version, the commit it was built from, and the version of Go.", Define: defineVersion},
			command.Completion,
			command.Manual,
		}},
		{Commands: []command.Command{{Name: "bench detector", About: "Bench detector is serve until the standard input ends, as bench latency has it do.", Define: defineDetector}}},
	},
	Notes: []command.Section{
		{Title: "Settings", Text: `Flags with a name such as $STREAMWATCH_ADDR may also be environment variables. The command line has
precedence over the environment, and the environment over the configuration file.`},
		{Title: "Signals", Text: `An interrupt or SIGTERM stops a command, a second one ends it at once. SIGHUP has serve read its
certificate and its limits again.`},
		{Title: "Exit status", Text: `0 for success, 78 (EX_CONFIG of sysexits.h) if the command line or the configuration is not allowed, and
1 for every other failure. After a panic it is 2, as for every Go program.`},
	},
}
