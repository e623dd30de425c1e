package command_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/streamwatch/streamwatch/internal/command"
)

// program is a small one, whose commands print what they were given.
func program() *command.Program {
	define := func(f *command.Flags) command.Run {
		n, late, quiet, scope := 3, time.Minute, false, "read"
		f.Add(&n, "n", "how `MANY`")
		f.Add(&late, "late", "how late")
		f.Add(&quiet, "quiet", "print less")
		f.Add(&scope, "scope", "what it may do", "read", "write")
		f.Setting("db", "a.db", "the store, of which much can be said that is too long for a line of a terminal")
		return func(_ context.Context, p command.Process) error {
			db, from := f.Given("db", p.Env)
			fmt.Fprintln(p.Out, n, late, quiet, scope, db, from, f.Args)
			return nil
		}
	}
	none := func(*command.Flags) command.Run {
		return func(context.Context, command.Process) error { return nil }
	}
	return &command.Program{Name: "tool", Summary: "Tool shows what a program can do.", Prefix: "TOOL_",
		Groups: []command.Group{
			{Title: "Work", Commands: []command.Command{
				{Name: "do", Takes: "WHAT...", Summary: "do it", About: "Do does it.\n\n    .such as this", Define: define},
				{Name: "play loud", Summary: "play it", Define: none},
			}},
			{Title: "More", Commands: []command.Command{{Name: "stop", Summary: "stop it", About: "Stop stops it.", Define: none}, command.Completion, command.Manual}},
			{Commands: []command.Command{{Name: "secret", Define: none}}},
		},
		Notes: []command.Section{{Title: "Exit status", Text: "0 or another."}},
	}
}

// ran returns the output of a command line.
func ran(t *testing.T, args ...string) (string, error) {
	var out bytes.Buffer
	env := func(name string) (string, bool) { return "of-env", name == "TOOL_DB" }
	err := program().Run(t.Context(), command.Process{Env: env, Out: &out, Logs: &out}, args)
	return out.String(), err
}

func TestRun(t *testing.T) {
	for line, want := range map[string]struct{ out, err string }{
		"do":                                 {"3 1m0s false read of-env TOOL_DB []", ""},
		"do a -n 5 b -quiet --late=2s c":     {"5 2s true read of-env TOOL_DB [a b c]", ""},
		"do -db x -quiet=false -scope write": {"3 1m0s false write x -db []", ""},
		"play loud":                          {"", ""},
		"play":                               {"", `command "play" is not known: the nearest is "play loud"`},
		"do -n many":                         {"", `-n "many" is not allowed: want a whole number`},
		"do -late 5":                         {"", `-late "5" is not allowed: want a duration such as 1m30s`},
		"do -quiet=perhaps":                  {"", `-quiet "perhaps" is not allowed: want true or false`},
		"do -scope all":                      {"", `-scope "all" is not allowed: want read or write`},
		"do -n":                              {"", "flag needs an argument: -n"},
		"do -quit":                           {"", "flag -quit is not known: the nearest is -quiet, and tool do -h lists all"},
		"stop now":                           {"", `argument "now" is not allowed: want flags only`},
		"stop -now":                          {"", "flag -now is not known: want none"},
		"sotp":                               {"", `command "sotp" is not known: the nearest is "stop", and tool help lists all`},
		"completion tcsh":                    {"", `argument "tcsh" is not allowed: want bash, zsh or fish`},
		"":                                   {"Usage: tool COMMAND", "command is missing"},
	} {
		out, err := ran(t, strings.Fields(line)...)
		if !strings.Contains(out, want.out) || want.err == "" != (err == nil) || err != nil && !strings.Contains(err.Error(), want.err) {
			t.Errorf("%q: %q, %v; want %+v", line, out, err, want)
		}
		if err != nil && !errors.As(err, new(command.UsageError)) {
			t.Errorf("%q: %v is no UsageError", line, err)
		}
	}
}

// full is a disk.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestOutputThatCannotBeWritten(t *testing.T) {
	for _, line := range []string{"do", "help", "man"} {
		err := program().Run(t.Context(), command.Process{Env: os.LookupEnv, Out: full{}, Logs: full{}}, []string{line})
		if err == nil || !strings.Contains(err.Error(), "disk full") || errors.As(err, new(command.UsageError)) {
			t.Errorf("%s: %v", line, err)
		}
	}
}

// Help is on lines that a terminal has, and leaves out what nobody types.
func TestHelp(t *testing.T) {
	for line, want := range map[string][]string{
		"-h":        {"Tool shows", "\nWork\n  do                do it\n", "\nMore\n  stop ", "  completion ", "  man "},
		"help do":   {"Usage: tool do [flags] WHAT...\n\nDo does it.\n\n    .such as this\n", "\n  -n MANY           how MANY (default 3)\n", "  -late TIME ", "too long for a\n                    line of a terminal (default a.db, $TOOL_DB)", "  -scope read|write\n                    what"},
		"stop -h":   {"Usage: tool stop\n\nStop stops it.\n"},
		"do -help":  {"-quiet            print less\n"},
		"do --help": {"-quiet"},
	} {
		out, err := ran(t, strings.Fields(line)...)
		if !errors.Is(err, flag.ErrHelp) || strings.Contains(out, "secret") {
			t.Errorf("%q: %v, %s", line, err, out)
		}
		for _, want := range want {
			if !strings.Contains(out, want) {
				t.Errorf("%q: no %q in\n%s", line, want, out)
			}
		}
		for text := range strings.Lines(out) {
			if len(text) > 80 {
				t.Errorf("%q: a line of %d bytes: %s", line, len(text), text)
			}
		}
	}
}

// The page has no error that groff knows, and the text of the help.
func TestManual(t *testing.T) {
	page, err := ran(t, "man")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := exec.LookPath("groff"); err != nil {
		t.Skip("SKIPPED: NO GROFF to read the manual page")
	}
	cmd := exec.Command("groff", "-man", "-Tascii", "-P-cbou", "-ww")
	cmd.Stdin = strings.NewReader(page)
	var out, wrong bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &wrong
	if err := cmd.Run(); err != nil || wrong.Len() > 0 {
		t.Errorf("groff: %v: %s", err, &wrong)
	}
	for _, want := range []string{"tool - shows what a program can do.", "WORK", "tool do [flags] WHAT...", ".such as this", "-n MANY", "EXIT STATUS", "tool completion bash"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
}

// completions are the words that a shell completes a line to.
var completions = map[string]string{
	"":                   "help do play stop completion man",
	"s":                  "stop",
	"pl":                 "play",
	"play ":              "loud",
	"help st":            "stop",
	"do -l":              "-late",
	"do --q":             "--quiet",
	"do -scope ":         "read write",
	"do -scope w":        "write",
	"do -quiet -s":       "-scope",
	"do -n ":             "",
	"completion ":        "bash zsh fish",
	"do $(touch broken)": "",
}

func TestComplete(t *testing.T) {
	for line, want := range completions {
		out, err := ran(t, append([]string{"complete"}, strings.Split(line, " ")...)...)
		var words []string
		for l := range strings.Lines(out) {
			word, _, _ := strings.Cut(l, "\t")
			words = append(words, word)
		}
		if got := strings.Join(words, " "); err != nil || got != want {
			t.Errorf("%q: %q, %v; want %q", line, got, err, want)
		}
	}
}

// The scripts do the same in the shells that are installed.
func TestShells(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink(os.Args[0], filepath.Join(dir, "tool")); err != nil {
		t.Skip(err)
	}
	for shell, ask := range map[string]string{
		"bash": `eval "$(tool completion bash)"
			COMP_WORDS=(tool "$@"); COMP_CWORD=$#; _tool tool; printf '%s\n' "${COMPREPLY[@]}"`,
		"zsh": `compdef() { }; _describe() { print -rl -- "${(@)${(P)2}%%:*}" }; _files() { }
			eval "$(tool completion zsh)"; words=(tool "$@"); CURRENT=$#words; _tool`,
		"fish": `tool completion fish | source; complete -C "tool $argv" | string replace -r '\t.*' ''`,
	} {
		t.Run(shell, func(t *testing.T) {
			if _, err := exec.LookPath(shell); err != nil {
				t.Skipf("SKIPPED: NO %s to complete lines in", strings.ToUpper(shell))
			}
			for line, want := range completions {
				if want == "" {
					continue // the shell's own: names of files
				}
				args := append([]string{"-c", ask, shell}, strings.Split(line, " ")...)
				if shell == "fish" {
					args = []string{"-c", ask, line}
				}
				cmd := exec.Command(shell, args...)
				cmd.Env = append(os.Environ(), "TEST_AS_TOOL=1", "PATH="+dir+":"+os.Getenv("PATH"))
				out, err := cmd.CombinedOutput()
				got := strings.Fields(string(out))
				expect := strings.Fields(want)
				slices.Sort(got)
				slices.Sort(expect)
				if err != nil || !slices.Equal(got, expect) {
					t.Errorf("%q: %s, %v; want %s", line, out, err, want)
				}
			}
		})
	}
}

func TestMain(m *testing.M) {
	if os.Getenv("TEST_AS_TOOL") != "" {
		if err := program().Run(context.Background(), command.Process{Env: os.LookupEnv, Out: os.Stdout, Logs: os.Stderr}, os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}
