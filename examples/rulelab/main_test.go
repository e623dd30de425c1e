package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// What the command prints, plain.
func TestRun(t *testing.T) {
	posts := filepath.Join(t.TempDir(), "posts.jsonl")
	const line = `{"id":"1","text":"sun \u001b[2J and moon","username":"a"}` + "\n"
	if err := os.WriteFile(posts, []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, row := range map[string]struct {
		args  []string
		stdin string
		want  []string // all of them are printed
		not   string
		err   string // part of it
	}{
		"hits and sums": {args: []string{"moon (from:nasa OR from:esa) -is:retweet"}, want: []string{
			"query     moon (from:nasa OR from:esa) -is:retweet\n",
			"platform  not needed where these are watched: @esa, @nasa\n",
			"2028349582341046272  @nasa  Liftoff! The moon rocket is on its way 🚀 #Artemis\n",
			"2 of 5 posts answer (40.0 %), 1.0 a day\n",
			"every 1m0s it costs 1500 credits a day\n"}, not: "spacefan"},
		"one post explained": {args: []string{"-explain", "2028711970206646272", "moon -lang:en"}, want: []string{
			"    yes     AND\n    yes       moon  \"moon\" at 44\n    yes       -lang:en\n"}, not: "@nasa"},
		"all posts explained": {args: []string{"-explain", "all", "moon -lang:en"}, want: []string{"2028349582341046272", "no        -lang:en"}},
		"a price":             {args: []string{"-interval", "500ms", "moon"}, want: []string{"every 500ms it costs 30000 credits a day"}},
		"what only the platform knows": {args: []string{"moon is:verified"}, want: []string{
			"only the platform can answer is:verified", "5 more could not be decided from their records"}},
		"a warning":              {args: []string{"moon AND from:nasa"}, want: []string{"  moon AND from:nasa\n       ^^^\nW_AND at byte 5"}},
		"errors":                 {args: []string{"moon AND ("}, want: []string{"           ^\nE_PAREN", "            ^\nE_OPERAND"}, err: "refused, for 2 reasons"},
		"a dialect":              {args: []string{"-dialect", "v2stream", "moon AND stars"}, want: []string{"E_AND"}, err: "refused"},
		"a file":                 {args: []string{"-file", posts, "moon"}, want: []string{"1  @a  sun  [2J and moon\n", "1 of 1 posts"}, not: "\x1b"},
		"the standard input":     {args: []string{"-file", "-", "moon"}, stdin: line, want: []string{"1 of 1 posts"}},
		"no posts in the file":   {args: []string{"-file", "-", "moon"}, want: []string{"0 of 0 posts answer (0.0 %)\n"}},
		"a line that is no post": {args: []string{"-file", "-", "moon"}, stdin: "{", err: "line 1 is not a post"},
		"no such file":           {args: []string{"-file", posts + "x", "moon"}, err: "posts.jsonlx"},
		"no such post":           {args: []string{"-explain", "9", "moon"}, err: `"9": no post has that id`},
		"no such dialect":        {args: []string{"-dialect", "sql", "moon"}, err: `-dialect "sql" is not allowed`},
		"no query":               {err: "0 arguments are not allowed"},
		"a query without quotes": {args: []string{"moon", "landing"}, err: "2 arguments are not allowed"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			l := lab{out: &out, in: strings.NewReader(row.stdin)}
			err := l.run(row.args)
			if row.err == "" && err != nil || row.err != "" && (err == nil || !strings.Contains(err.Error(), row.err)) {
				t.Errorf("error %v, want one that says %q", err, row.err)
			}
			for _, want := range row.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("got\n%s\nwithout\n%s", out.String(), want)
				}
			}
			if row.not != "" && strings.Contains(out.String(), row.not) {
				t.Errorf("got\n%s\nwith %q", out.String(), row.not)
			}
		})
	}
}

func TestColours(t *testing.T) {
	for _, row := range []struct{ args, want string }{
		{"moon rocket", "The \x1b[32mmoon\x1b[0m \x1b[32mrocket\x1b[0m is"},
		{"moon AND (", "\x1b[31m^\x1b[0m"},
	} {
		var out bytes.Buffer
		l := lab{out: &out, colour: true}
		if l.run([]string{row.args}); !strings.Contains(out.String(), row.want) {
			t.Errorf("got\n%q\nwithout\n%q", out.String(), row.want)
		}
	}
	f, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if isTerminal(f) {
		t.Error("a file counts as a terminal")
	}
}
