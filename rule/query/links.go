package query

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// The rules for links, tags and names in a text are from twitter-text,
// https://github.com/twitter/twitter-text. The text is read in one pass.

// maxLink is the longest link in a text, in bytes. maxOpen is the most bytes read after the last
// character that can end a link.
const (
	maxLink = 4096
	maxOpen = 128
)

// generic has the top-level domains that make a name a link without "https://". A name with a
// two-letter domain needs a path or a subdomain as well: "the end.so it goes" has no link.
var generic = map[string]bool{
	"com": true, "net": true, "org": true, "edu": true, "gov": true, "mil": true, "int": true,
	"info": true, "biz": true, "name": true, "pro": true, "aero": true, "coop": true, "museum": true,
	"app": true, "dev": true, "online": true, "site": true, "shop": true, "store": true, "blog": true,
	"news": true, "xyz": true, "tech": true, "cloud": true, "page": true, "live": true, "social": true,
	"wiki": true, "club": true, "agency": true, "today": true, "world": true, "space": true, "art": true,
	"mobi": true, "jobs": true, "travel": true, "link": true, "media": true, "network": true, "website": true,
}

// appendLinks appends the spans of the links in s to dst. It adds the number of bytes that it
// reads to steps. Bytes that it reads twice count twice.
func appendLinks(dst []span, s string, steps *int) []span {
	*steps += len(s)
	for i := 0; i < len(s); {
		if !isAlnum(s[i]) {
			i++
			continue
		}
		if end := linkAt(s, i, steps); end > i {
			dst = append(dst, span{int32(i), int32(end)})
			i = end
			continue
		}
		for i < len(s) && (isAlnum(s[i]) || s[i] == '-' || s[i] == '.') { // once per name
			i++
		}
	}
	return dst
}

func isAlnum(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

// linkAt returns the end of the link that starts at i, or 0 if there is none.
func linkAt(s string, i int, steps *int) int {
	before, _ := utf8.DecodeLastRuneInString(s[:i])
	if i > 0 && (strings.ContainsRune("@＠$#＃", before) || before < utf8.RuneSelf && isAlnum(byte(before))) {
		return 0
	}
	scheme := 0
	for _, p := range [...]string{"https://", "http://"} {
		if len(s)-i > len(p) && strings.EqualFold(s[i:i+len(p)], p) {
			scheme = len(p)
		}
	}
	if scheme == 0 && i > 0 && strings.ContainsRune("-_./", before) {
		return 0
	}
	host := hostEnd(s, i+scheme, scheme > 0, steps)
	if host == i+scheme {
		return 0
	}
	end := host
	if end < len(s) && s[end] == ':' {
		port := end + 1
		for port < len(s) && '0' <= s[port] && s[port] <= '9' {
			port++
		}
		if port > end+1 {
			end = port
		}
	}
	path := end < len(s) && s[end] == '/'
	if scheme == 0 {
		name := s[i:host]
		last := name[strings.LastIndexByte(name, '.')+1:]
		twoLetters := len(last) == 2 && (path || strings.Count(name, ".") > 1)
		var lower [8]byte // the longest of generic has 7
		n := copy(lower[:], last)
		for k := range lower[:n] {
			lower[k] |= 0x20
		}
		if !generic[string(lower[:n])] && !twoLetters || end < len(s) && s[end] == '@' {
			return 0
		}
	}
	if end < len(s) && strings.IndexByte("/?#", s[end]) >= 0 {
		end = pathEnd(s, end, i+maxLink, steps)
	}
	return end
}

// hostEnd returns the end of the host name at i, or i if there is none. unicodeToo allows letters
// outside ASCII. Set it only for links with a scheme.
func hostEnd(s string, i int, unicodeToo bool, steps *int) int {
	end, label, dots := i, i, 0
	for j := i; j <= len(s); {
		*steps++
		r, size := utf8.RuneError, 1
		if j < len(s) {
			r, size = utf8.DecodeRuneInString(s[j:])
		}
		inName := r == '-' && j > label || r < utf8.RuneSelf && isAlnum(byte(r)) ||
			unicodeToo && r >= utf8.RuneSelf && r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r))
		if inName && j-i <= 253 {
			j += size
			continue
		}
		if j > label { // a label ended
			if dots > 0 && s[j-1] != '-' && !isDigits(s[label:j]) {
				end = j
			}
			if r == '.' {
				dots++
				label = j + 1
				j++
				continue
			}
		}
		break
	}
	return end
}

// pathEnd returns the end of the path, query and fragment that start at i. It leaves out
// punctuation at the end, and a closing parenthesis without an opening one.
func pathEnd(s string, i, limit int, steps *int) int {
	end, depth := i, 0
	for j := i; j < len(s) && j < limit && j < end+maxOpen; {
		*steps++
		r, size := utf8.DecodeRuneInString(s[j:])
		switch {
		case r == '(':
			depth++
		case r == ')':
			if depth == 0 {
				return end
			}
			depth--
			end = j + size
		case strings.ContainsRune("!*';:,.$%[]|&@~?", r): // allowed, but not at the end
		case r == '/' || r == '=' || r == '_' || r == '#' || r == '+' || r == '-' || unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r):
			if depth == 0 {
				end = j + size
			}
		default:
			return end
		}
		j += size
	}
	return end
}

func isDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}
