package manual

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Root returns the folder of the module, which is above the one that a test runs in.
func Root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("there is no go.mod above the test")
		}
	}
}

// Page returns the text of a page, such as docs/rules.md.
func Page(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(Root(t), name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Need skips a test without the programs that a page uses. It fails where
// STREAMWATCH_REQUIRE_PROGRAMS is set, as by .ci/nightly.
func Need(t testing.TB, programs ...string) {
	t.Helper()
	for _, program := range programs {
		if _, err := exec.LookPath(program); err == nil {
			continue
		}
		if os.Getenv("STREAMWATCH_REQUIRE_PROGRAMS") != "" {
			t.Fatalf("%s is missing", program)
		}
		t.Skipf("NOT TESTED: %s is missing", program)
	}
}

// Section returns what follows a heading, such as "## Words", up to the next one of the same level
// or a higher one.
func Section(t testing.TB, page, heading string) string {
	t.Helper()
	_, rest, ok := strings.Cut(page, "\n"+heading+"\n")
	if !ok {
		t.Fatalf("no heading %q", heading)
	}
	end, code := len(rest), false
	level := strings.Index(heading, " ")
	for at := 0; at < len(rest); {
		line, _, _ := strings.Cut(rest[at:], "\n")
		if strings.HasPrefix(line, "```") {
			code = !code
		}
		if n := strings.Index(line, " "); !code && n > 0 && n <= level && line[:n] == strings.Repeat("#", n) {
			end = at
			break
		}
		at += len(line) + 1
	}
	return rest[:min(end, len(rest))]
}

// Blocks returns the code blocks of a language, such as sh.
func Blocks(text, language string) (blocks []string) {
	for {
		_, rest, ok := strings.Cut(text, "\n```"+language+"\n")
		if !ok {
			return blocks
		}
		block, rest, _ := strings.Cut(rest, "\n```\n")
		blocks, text = append(blocks, block+"\n"), "\n"+rest
	}
}

// Rows returns the cells of the rows of all tables of a text, without their headings.
func Rows(text string) (rows [][]string) {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if !strings.HasPrefix(line, "| ") || i+1 < len(lines) && strings.HasPrefix(lines[i+1], "|--") {
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		rows = append(rows, cells)
	}
	return rows
}
