package command

import (
	"context"
	"flag"
	"fmt"
	"io"
	"reflect"
	"strings"
	"time"
)

// columns is the width of help, the least that terminals have.
const columns = 79

// help lists the commands.
func (g *Program) help(w io.Writer) {
	fmt.Fprintf(w, "%s\n\nUsage: %s COMMAND [flags]\n", g.Summary, g.Name)
	for _, group := range g.Groups {
		if group.Title == "" {
			continue
		}
		fmt.Fprintf(w, "\n%s\n", group.Title)
		for _, c := range group.Commands {
			item(w, c.Name, c.Summary)
		}
	}
	fmt.Fprintf(w, "\n%s COMMAND -h tells more of a command, %[1]s man tells all.\n", g.Name)
}

// help prints what -h asks for.
func (f *Flags) help(w io.Writer) {
	fmt.Fprintf(w, "Usage: %s\n\n", f.synopsis())
	for i, p := range paragraphs(f.about()) {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintln(w, p.wrapped())
	}
	title := "\nFlags\n"
	f.each(func(name, usage string) {
		fmt.Fprint(w, title)
		title = ""
		item(w, name, usage)
	})
	for _, n := range f.notes {
		fmt.Fprintf(w, "\n%s\n%s\n", n.Title, n.Text)
	}
}

func (f *Flags) synopsis() string {
	text := f.program.Name + " " + f.command.Name
	f.each(func(string, string) { text = f.program.Name + " " + f.command.Name + " [flags]" })
	return strings.TrimSpace(text + " " + f.command.Takes)
}

// each calls do for each flag. name has the name of its value, usage ends with its default and its
// variable.
func (f *Flags) each(do func(name, usage string)) {
	f.VisitAll(func(one *flag.Flag) {
		of, usage := flag.UnquoteUsage(one)
		v, _ := one.Value.(*value)
		if v != nil && of == "value" {
			of = v.kind(f.allowed[one.Name])
		}
		if v != nil && v.isBool {
			of = ""
		}
		var more []string
		if def := one.DefValue; def != "" && def != "0" && def != "0s" && def != "false" && def != "[]" {
			more = append(more, "default "+def)
		}
		if v != nil && v.setting {
			more = append(more, "$"+f.variable(one.Name))
		}
		if more != nil {
			usage += " (" + strings.Join(more, ", ") + ")"
		}
		do(strings.TrimSpace("-"+one.Name+" "+of), usage)
	})
}

// kind is the name of a value that usage does not name.
func (v *value) kind(allowed []string) string {
	switch {
	case allowed != nil:
		return strings.Join(allowed, "|")
	case v.into.Kind() == reflect.String:
		return "TEXT"
	case v.into.Type() == reflect.TypeFor[time.Duration]():
		return "TIME"
	}
	return "N"
}

// item prints a name and, from a column on, its text.
func item(w io.Writer, name, text string) {
	const column = 18
	lines := strings.Split(wrap(text, columns-2-column), "\n")
	if len(name) > column-2 {
		fmt.Fprintf(w, "  %s\n", name)
		name = ""
	}
	for _, line := range lines {
		fmt.Fprintf(w, "  %-*s%s\n", column, name, line)
		name = ""
	}
}

// paragraph is one of a text, on one line, or lines that are shown as they are.
type paragraph struct {
	text     string
	verbatim bool
}

// wrapped returns the paragraph for a terminal.
func (p paragraph) wrapped() string {
	if p.verbatim {
		return p.text
	}
	return wrap(p.text, columns)
}

// paragraphs splits a text.
func paragraphs(text string) (all []paragraph) {
	for p := range strings.SplitSeq(strings.Trim(text, "\n"), "\n\n") {
		if strings.HasPrefix(p, " ") {
			all = append(all, paragraph{p, true})
		} else {
			all = append(all, paragraph{strings.Join(strings.Fields(p), " "), false})
		}
	}
	return all
}

// wrap breaks a text into lines of at most width characters, unless a word is longer.
func wrap(text string, width int) string {
	var b strings.Builder
	used := 0
	for _, word := range strings.Fields(text) {
		n := len([]rune(word))
		switch {
		case used == 0:
		case used+1+n > width:
			b.WriteByte('\n')
			used = 0
		default:
			b.WriteByte(' ')
			used++
		}
		b.WriteString(word)
		used += n
	}
	return b.String()
}

// about is Command.About.
func (f *Flags) about() string { return strings.ReplaceAll(f.command.About, "PROGRAM", f.program.Name) }

// Manual is the command that prints the manual page.
var Manual = Command{Name: "man", Summary: "print the manual page", About: "Man prints this manual as a page for man: PROGRAM man > PROGRAM.1", Define: func(f *Flags) Run {
	return func(_ context.Context, p Process) error {
		f.program.manual(p.Out)
		return nil
	}
}}

// manual prints the manual page, in the language of man(7).
func (g *Program) manual(w io.Writer) {
	_, does, _ := strings.Cut(g.Summary, " ") // behind the name
	fmt.Fprintf(w, ".TH %s 1\n.nh\n.ad l\n.SH NAME\n%s \\- %s\n.SH SYNOPSIS\n.B %[2]s\n.I COMMAND\n[flags]\n", strings.ToUpper(g.Name), g.Name, roff(does))
	for _, group := range g.Groups {
		if group.Title == "" {
			continue
		}
		fmt.Fprintf(w, ".SH %s\n", roff(strings.ToUpper(group.Title)))
		for _, c := range group.Commands {
			f, _ := g.define(c)
			fmt.Fprintf(w, ".SS %s\n", roff(f.synopsis()))
			section(w, f.about())
			f.each(func(name, usage string) { fmt.Fprintf(w, ".TP\n.B %s\n%s\n", roff(name), roff(usage)) })
			for _, n := range f.notes {
				fmt.Fprintf(w, ".PP\n%s\n.PP\n.nf\n%s\n.fi\n", roff(n.Title), roff(n.Text))
			}
		}
	}
	for _, n := range g.Notes {
		fmt.Fprintf(w, ".SH %s\n", roff(strings.ToUpper(n.Title)))
		section(w, n.Text)
	}
}

func section(w io.Writer, text string) {
	for _, p := range paragraphs(text) {
		if p.verbatim {
			fmt.Fprintf(w, ".PP\n.nf\n%s\n.fi\n", roff(p.text))
		} else {
			fmt.Fprintf(w, ".PP\n%s\n", roff(p.text))
		}
	}
}

// roff returns a text for man(7).
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "\n.", "\n\\&.", "\n'", "\n\\&'").Replace(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text
	}
	return text
}
