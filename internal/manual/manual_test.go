package manual_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/streamwatch/streamwatch/internal/manual"
)

// anchor returns what a heading is linked by.
func anchor(heading string) string {
	text := strings.ToLower(strings.TrimSpace(strings.TrimLeft(heading, "#")))
	text = regexp.MustCompile(`[^\pL\pN _-]`).ReplaceAllString(text, "")
	return strings.ReplaceAll(text, " ", "-")
}

// broken returns why a link of a page leads nowhere, "" if it leads somewhere.
func broken(tree fs.FS, page, link string) string {
	file, heading, _ := strings.Cut(link, "#")
	to := page
	if file != "" {
		to = path.Join(path.Dir(page), file)
	}
	if _, err := fs.Stat(tree, to); err != nil {
		return "there is no " + to
	}
	if heading == "" {
		return ""
	}
	text, err := fs.ReadFile(tree, to)
	if err != nil {
		return err.Error()
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") && anchor(line) == heading {
			return ""
		}
	}
	return to + " has no heading " + heading
}

// Links lead to files and headings that are there, and so does what other files say of docs/.
func TestLinks(t *testing.T) {
	tree := os.DirFS(manual.Root(t))
	links, named := regexp.MustCompile(`\]\(([^)\s]+)\)`), regexp.MustCompile(`(?:^|[\s("./])(docs/[a-z-]+\.md)`)
	pages := 0
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && name != "." && (d.Name()[0] == '.' || d.Name() == "testdata" || d.Name() == "node_modules") {
			return fs.SkipDir
		}
		markdown := path.Ext(name) == ".md"
		if d.IsDir() || !markdown && !slices.Contains([]string{".go", ".yaml", ".service"}, path.Ext(name)) {
			return nil
		}
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		if !markdown {
			for _, m := range named.FindAllStringSubmatch(string(text), -1) {
				if why := broken(tree, "README.md", m[1]); why != "" {
					t.Errorf("%s: %s: %s", name, m[1], why)
				}
			}
			return nil
		}
		pages++
		for _, m := range links.FindAllStringSubmatch(string(text), -1) {
			if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") {
				continue
			}
			if why := broken(tree, name, m[1]); why != "" {
				t.Errorf("%s: %s: %s", name, m[1], why)
			}
		}
		return nil
	})
	if err != nil || pages < 15 {
		t.Errorf("%d pages, %v", pages, err)
	}
	if broken(tree, "docs/README.md", "nowhere.md") == "" || broken(tree, "docs/README.md", "rules.md#nowhere") == "" {
		t.Error("a link that leads nowhere is not noticed")
	}
}

// The index has every page, and from each leads a link to the next one.
func TestIndex(t *testing.T) {
	pages := regexp.MustCompile(`(?m)^\| \[[^]]+\]\(([a-z-]+\.md)\)`).FindAllStringSubmatch(manual.Page(t, "docs/README.md"), -1)
	files, err := filepath.Glob(filepath.Join(manual.Root(t), "docs", "*.md"))
	if err != nil || len(pages) != len(files)-1 {
		t.Errorf("the index has %d pages, %d are there, %v", len(pages), len(files)-1, err)
	}
	for i := range len(pages) - 2 { // the last is an appendix
		text := manual.Page(t, "docs/"+pages[i][1])
		if next := pages[i+1][1]; !regexp.MustCompile(`\nNext: \[[^]]+\]\(` + next + `\)\n$`).MatchString(text) {
			t.Errorf("%s does not end with a link to %s", pages[i][1], next)
		}
	}
}

// Every example has its how-to, and every how-to its example.
func TestExamples(t *testing.T) {
	dirs, err := filepath.Glob(filepath.Join(manual.Root(t), "examples", "*"))
	if err != nil || len(dirs) == 0 {
		t.Fatal(len(dirs), err)
	}
	page := manual.Page(t, "docs/embed.md")
	for _, dir := range dirs {
		if name := filepath.Base(dir); !strings.Contains(page, "](../examples/"+name+")") || !strings.Contains(page, "./examples/"+name) {
			t.Errorf("the page lacks examples/%s, or how it is run", name)
		}
	}
}

// The receiver of the first page is that of the page about receivers.
func TestReceiverIsThere(t *testing.T) {
	_, rest, _ := strings.Cut(manual.Page(t, "docs/start.md"), "<<'END'\n")
	first, _, _ := strings.Cut(rest, "END\n")
	if want := manual.Blocks(manual.Page(t, receivePage), "python")[0]; first != want {
		t.Errorf("docs/start.md has another receiver than %s", receivePage)
	}
}

// The programs of the pages compile.
func TestPrograms(t *testing.T) {
	if testing.Short() {
		t.Skip("programs are compiled, which takes seconds")
	}
	manual.Need(t, "go")
	var programs []string
	for _, page := range []string{"README.md", "docs/start.md"} {
		programs = append(programs, manual.Blocks(manual.Page(t, page), "go")...)
	}
	if len(programs) != 2 || programs[0] != programs[1] {
		t.Fatalf("%d programs, want that of README.md and the same in docs/start.md", len(programs))
	}
	file := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(file, []byte(programs[0]), 0o600); err != nil {
		t.Fatal(err)
	}
	vet := exec.Command("go", "vet", file)
	vet.Dir, vet.Env = manual.Root(t), append(os.Environ(), "GOPROXY=off")
	if out, err := vet.CombinedOutput(); err != nil {
		noCache(t, string(out))
		t.Errorf("%v\n%s", err, out)
	}
}
