package webscrape

import (
	"context"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestRobotsRules(t *testing.T) {
	for _, tt := range []struct {
		name, file string
		path       string
		want       bool
	}{
		{"no file", "", "/a", true},
		{"closed to all", "User-agent: *\nDisallow: /", "/a", false},
		{"closed to another", "User-agent: other\nDisallow: /", "/a", true},
		{"closed by name", "User-agent: StreamWatch\nDisallow: /", "/a", false},
		{"closed by name with a version", "User-agent: streamwatch/1.0\nDisallow: /", "/a", false},
		{"a longer name is another's", "User-agent: streamwatch-images\nDisallow: /", "/a", true},
		{"the own group before that of all", "User-agent: *\nDisallow: /\n\nUser-agent: streamwatch\nDisallow: /x", "/a", true},
		{"an own group without rules", "User-agent: *\nDisallow: /\nUser-agent: streamwatch\nDisallow:\n", "/a", true},
		{"several names, one group", "User-agent: other\nUser-agent: streamwatch\nDisallow: /", "/a", false},
		{"several groups of a name", "User-agent: streamwatch\nDisallow: /a\nUser-agent: x\nDisallow: /\nUser-agent: streamwatch\nDisallow: /b", "/b", false},
		{"lines between that are no rules", "User-agent: streamwatch\nCrawl-delay: soon\nSitemap: /s\nnonsense\nDisallow: /a", "/a", false},
		{"a rule before any name", "Disallow: /\nUser-agent: *\nDisallow: /x", "/a", true},
		{"the start of the path counts", "User-agent: *\nDisallow: /a", "/abc/d", false},
		{"case counts", "User-agent: *\nDisallow: /A", "/a", true},
		{"the longest rule counts", "User-agent: *\nDisallow: /a\nAllow: /a/b", "/a/b/c", true},
		{"wherever it stands", "User-agent: *\nAllow: /a/b\nDisallow: /a", "/a/c", false},
		{"Allow at a tie", "User-agent: *\nDisallow: /a\nAllow: /a", "/a", true},
		{"any text", "User-agent: *\nDisallow: /*.pdf", "/x/y.pdf?z", false},
		{"any text, twice", "User-agent: *\nDisallow: /*a*b", "/xaxxb", false},
		{"any text goes back", "User-agent: *\nDisallow: /*ab$", "/aab", false},
		{"the end", "User-agent: *\nDisallow: /*.pdf$", "/x.pdf?z", true},
		{"the end, exactly", "User-agent: *\nDisallow: /a$", "/a", false},
		{"the end, not more", "User-agent: *\nDisallow: /a$", "/ab", true},
		{"the query counts", "User-agent: *\nDisallow: /*?q=", "/a?q=1", false},
		{"written in another way", "User-agent: *\nDisallow: /ü%c3%bc", "/%c3%bc%C3%BC", false},
		{"comments and spaces", "\ufeff  user-AGENT :  *  # all\r\n DISALLOW: /a # this\r", "/a", false},
		{"rules without a colon", "User-agent *\nDisallow /", "/a", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := parseRobots(tt.file, "streamwatch").allowed(tt.path); got != tt.want {
				t.Errorf("%s allowed: %v, want %v", tt.path, got, tt.want)
			}
		})
	}
}

func TestRobotsBounds(t *testing.T) {
	many := parseRobots("User-agent: *\n"+strings.Repeat("Disallow: /a\n", maxRobotsRules+5)+"Disallow: /b", "x")
	if len(many) != maxRobotsRules || !many.allowed("/b") {
		t.Errorf("%d rules kept, want %d", len(many), maxRobotsRules)
	}
	if long := parseRobots("User-agent: *\nDisallow: /"+strings.Repeat("a", maxRobotsRule), "x"); len(long) != 0 {
		t.Error("an endless rule is kept")
	}
	clock := time.Unix(0, 0)
	c := newRobotsCache("x", func() time.Time { return clock })
	for i := range 2000 {
		c.put(fmt.Sprint("https://", i), robotsRules{{path: strings.Repeat("a", 100_000)}})
		if c.bytes > maxRobotsCached || len(c.origins) > maxRobotsCached/100_000 {
			t.Fatalf("%d bytes of %d files kept, want %d at most", c.bytes, len(c.origins), maxRobotsCached)
		}
	}
}

// A rule is compared in a time that grows with the lengths of rule and path, not with
// their product: with that, each of these would take hours.
func TestHostileRobotsRules(t *testing.T) {
	const n = 1 << 23
	path := "/" + strings.Repeat("a", n)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for name, rule := range map[string]string{
			"a long text":           "/*" + strings.Repeat("a", n/2) + "b",
			"a long text, the end":  "/*" + strings.Repeat("a", n/2) + "b$",
			"a short text":          "/*" + strings.Repeat("a", 50) + "b",
			"many short texts":      "/" + strings.Repeat("*a", n/2) + "b",
			"many texts, then long": "/" + strings.Repeat("*a", n/4) + "*" + strings.Repeat("a", n/4) + "b",
			"stars":                 "/" + strings.Repeat("*", n) + "b",
		} {
			if matchPath(rule, path) {
				t.Errorf("%s: matches", name)
			}
		}
	}()
	select {
	case <-done:
	case <-time.After(2 * time.Minute):
		t.Fatal("not done after 2 minutes")
	}
}

// The rules of a file end with the hour, also when the file is gone then.
func TestRobotsFileThatIsRemoved(t *testing.T) {
	clock, there := time.Unix(0, 0), true
	c := newRobotsCache("x", func() time.Time { return clock })
	read := func(context.Context, *url.URL) ([]byte, bool, error) {
		return []byte("User-agent: *\nDisallow: /"), there, nil
	}
	page := &url.URL{Scheme: "https", Host: "example.com", Path: "/a"}
	for _, row := range []struct {
		after       time.Duration
		there, want bool
	}{{0, true, false}, {robotsTTL - 1, false, false}, {1, false, true}, {robotsTTL, true, false}} {
		clock, there = clock.Add(row.after), row.there
		if got, err := c.allowed(t.Context(), page, read); err != nil || got != row.want {
			t.Errorf("after %s, with the file there %t: allowed %t, %v, want %t", clock.Sub(time.Unix(0, 0)), there, got, err, row.want)
		}
	}
}

// FuzzRobotsPath compares the matcher with regular expressions.
func FuzzRobotsPath(f *testing.F) {
	for _, v := range [][2]string{{"/a*b$", "/axb"}, {"/*a*ab", "/aaab"}, {"$", ""}, {"*", "/"}, {"/a$b", "/a$b"}, {"/**x**$", "/yx"}, {"*$", ""}} {
		f.Add(v[0], v[1])
	}
	f.Fuzz(func(t *testing.T, rule, path string) {
		if len(rule) > 30 || len(path) > 100 {
			return
		}
		end := ""
		pattern := rule
		if strings.HasSuffix(pattern, "$") {
			pattern, end = strings.TrimSuffix(pattern, "$"), "$"
		}
		var b strings.Builder
		for i := range len(pattern) {
			if pattern[i] == '*' {
				b.WriteString("(?s:.*)")
			} else {
				fmt.Fprintf(&b, `\x{%02x}`, pattern[i])
			}
		}
		// Bytes are compared, so both are read as Latin-1.
		want := regexp.MustCompile(`\A` + b.String() + strings.ReplaceAll(end, "$", `\z`)).MatchString(latin1(path))
		if got := matchPath(rule, path); got != want {
			t.Errorf("rule %q, path %q: %v, want %v", rule, path, got, want)
		}
	})
}

func latin1(s string) string {
	out := make([]rune, len(s))
	for i := range len(s) {
		out[i] = rune(s[i])
	}
	return string(out)
}

func FuzzParseRobots(f *testing.F) {
	f.Add("User-agent: *\nDisallow: /a", "/a")
	f.Add("user-agent:x\r\nallow:%\ndisallow:*$\n", "/%zz")
	f.Fuzz(func(t *testing.T, file, path string) {
		rs := parseRobots(file, "streamwatch")
		if rs.allowed(path) != rs.allowed(normalPath(path)) {
			t.Errorf("%q is judged in another way once it is normal", path)
		}
		if n := normalPath(path); normalPath(n) != n {
			t.Errorf("%q is not normal: %q", n, normalPath(n))
		}
	})
}
