package webscrape

import (
	"strings"
)

const (
	// maxRobots is the number of bytes used of a file, the minimum in RFC 9309, 2.5.
	maxRobots = 500 << 10

	maxRobotsRules = 10_000 // kept of a file
	maxRobotsRule  = 2048   // bytes of a rule's path; longer rules are left out
)

// robotsRules are the rules of a robots.txt for one product name.
type robotsRules []robotsRule

type robotsRule struct {
	path  string // normalized; * matches any text, and $ at the end matches the end
	allow bool
}

// parseRobots parses a robots.txt file (RFC 9309, 2.2). It returns the rules of all groups that
// name the agent, which is in lower case. If there are none, it returns the rules of all groups
// that name *. As the RFC requires, it ignores lines that it does not know.
func parseRobots(file, agent string) robotsRules {
	var own, any robotsRules
	var named, inOwn, inAny bool // named: a group so far names the agent
	agents := true               // the lines before were user-agent lines
	for line := range strings.FieldsFuncSeq(strings.TrimPrefix(file, "\ufeff"), func(r rune) bool { return r == '\n' || r == '\r' }) {
		line, _, _ = strings.Cut(line, "#")
		key, value, ok := strings.Cut(line, ":")
		if !ok {
			continue
		}
		value = strings.TrimSpace(value)
		switch key = strings.ToLower(strings.TrimSpace(key)); key {
		case "user-agent":
			if !agents {
				inOwn, inAny = false, false
			}
			agents = true
			if value == "*" {
				inAny = true
			} else if productName(value) == agent {
				inOwn, named = true, true
			}
		case "allow", "disallow":
			agents = false
			if value == "" || len(value) > maxRobotsRule {
				continue // an empty rule matches nothing
			}
			r := robotsRule{normalPath(value), key == "allow"}
			if inOwn && len(own) < maxRobotsRules {
				own = append(own, r)
			}
			if inAny && !named && len(any) < maxRobotsRules {
				any = append(any, r)
			}
		}
	}
	if named {
		return own
	}
	return any
}

// productName returns the part of a User-Agent that robots.txt files name, in lower case. It
// consists of letters, "-" and "_" (RFC 9309, 2.2.1). Digits are also allowed, because some
// programs use them.
func productName(userAgent string) string {
	end := strings.IndexFunc(userAgent, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_')
	})
	if end >= 0 {
		userAgent = userAgent[:end]
	}
	return strings.ToLower(userAgent)
}

// allowed reports whether the rules allow a path with its query. The longest matching rule
// decides. If two rules are equally long, Allow wins (RFC 9309, 2.2.2).
func (rs robotsRules) allowed(path string) bool {
	path = normalPath(path)
	longest, allow := -1, true
	for _, r := range rs {
		if n := len(r.path); (n > longest || n == longest && r.allow) && matchPath(r.path, path) {
			longest, allow = n, r.allow
		}
	}
	return allow
}

// size returns approximately how much memory the rules take, in bytes.
func (rs robotsRules) size() int {
	n := 200
	for _, r := range rs {
		n += 32 + len(r.path)
	}
	return n
}

// matchPath reports whether a rule matches the beginning of a path. It takes the first
// occurrence of each text between stars, so it searches the path only once.
func matchPath(rule, path string) bool {
	rule, toEnd := strings.CutSuffix(rule, "$")
	text, rest, more := strings.Cut(rule, "*")
	path, ok := strings.CutPrefix(path, text)
	for ok && more {
		text, rest, more = strings.Cut(rest, "*")
		if !more && toEnd {
			return strings.HasSuffix(path, text)
		}
		_, path, ok = strings.Cut(path, text)
	}
	return ok && (path == "" || !toEnd)
}

// normalPath makes rules and paths comparable byte by byte. It percent-encodes bytes that are
// not printable ASCII, and writes hexadecimal digits in upper case.
func normalPath(s string) string {
	const hex = "0123456789ABCDEF"
	plain := true
	for i := 0; i < len(s) && plain; i++ {
		plain = s[i] > ' ' && s[i] <= '~' && s[i] != '%'
	}
	if plain {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '%' && i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2]):
			b.WriteString(strings.ToUpper(s[i : i+3]))
			i += 2
		case c <= ' ' || c > '~':
			b.WriteByte('%')
			b.WriteByte(hex[c>>4])
			b.WriteByte(hex[c&15])
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

func isHex(c byte) bool { return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f' }
