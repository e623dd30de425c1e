package command

import (
	"context"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Completion is the command that prints what completes command lines in a shell.
var Completion = Command{Name: "completion", Takes: "bash|zsh|fish", Summary: "print what completes command lines in a shell", About: `Completion prints a script that has a shell complete command lines of this program: names of commands and
flags, and values where only a few are allowed. Have the shell read it when it starts:

    ~/.bashrc                  source <(PROGRAM completion bash)
    ~/.zshrc, after compinit   source <(PROGRAM completion zsh)
    ~/.config/fish/config.fish PROGRAM completion fish | source`, Define: func(f *Flags) Run {
	return func(_ context.Context, p Process) error {
		_, err := io.WriteString(p.Out, strings.ReplaceAll(scripts[f.Args[0]], "NAME", f.program.Name))
		return err
	}
}}

// scripts are what shells read. They call the command complete.
var scripts = map[string]string{
	"bash": `_NAME() {
	local IFS=$'\n'
	COMPREPLY=($("$1" complete "${COMP_WORDS[@]:1:COMP_CWORD}"))
	COMPREPLY=("${COMPREPLY[@]%%$'\t'*}")
}
complete -o bashdefault -o default -F _NAME NAME
`,
	"zsh": `#compdef NAME
_NAME() {
	local -a found
	found=("${(@f)$("${words[1]}" complete "${(@)words[2,CURRENT]}")}")
	if [[ -n "$found" ]]; then
		found=("${(@)found/$'\t'/:}")
		_describe NAME found
	else
		_files
	fi
}
compdef _NAME NAME
`,
	"fish": `function __NAME
	set -l last (commandline -ct)
	set -l found (NAME complete (commandline -opc)[2..] "$last")
	if count $found >/dev/null
		printf '%s\n' $found
	else
		__fish_complete_path (commandline -ct)
	end
end
complete -c NAME -f -a '(__NAME)'
`,
}

// complete prints what the last of the words may become, with a tab before what it is.
func (g *Program) complete(w io.Writer, words []string) {
	if len(words) == 0 {
		return
	}
	before, last := words[:len(words)-1], words[len(words)-1]
	told := map[string]bool{}
	tell := func(word, what string) {
		if strings.HasPrefix(word, last) && !told[word] {
			fmt.Fprintf(w, "%s\t%s\n", word, what)
		}
		told[word] = true
	}
	if len(before) == 0 {
		tell("help", "tell more of a command")
	} else if before[0] == "help" {
		before = before[1:]
	}
	c, rest, ok := g.find(before)
	if !ok {
		g.visible(func(c Command) {
			if name, ok := strings.CutPrefix(c.Name+" ", strings.Join(append(slices.Clip(before), ""), " ")); ok {
				word, more, _ := strings.Cut(name, " ")
				if more != "" {
					c.Summary = c.Name
				}
				tell(word, c.Summary)
			}
		})
		return
	}
	f, _ := g.define(c)
	if len(rest) > 0 {
		if of := f.Lookup(strings.TrimLeft(rest[len(rest)-1], "-")); of != nil && strings.HasPrefix(rest[len(rest)-1], "-") {
			if v, ok := of.Value.(*value); !ok || !v.isBool { // the word is its value
				for _, text := range f.allowed[of.Name] {
					tell(text, of.Name)
				}
				return
			}
		}
	}
	if dashes := last[:len(last)-len(strings.TrimLeft(last, "-"))]; dashes != "" {
		f.VisitAll(func(one *flag.Flag) {
			_, usage := flag.UnquoteUsage(one)
			usage, _, _ = strings.Cut(usage, ";")
			tell(dashes+one.Name, usage)
		})
	} else if strings.Contains(c.Takes, "|") {
		for text := range strings.SplitSeq(c.Takes, "|") {
			tell(text, c.Summary)
		}
	}
}
