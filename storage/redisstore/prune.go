package redisstore

import "strings"

// chunk is a stretch of Lua: a local at the top of a file, which is a function or a
// short name for one of Lua, or what stands between two of them.
type chunk struct {
	text  string
	local string // its name, "" for what is no such local
}

// withoutUnused leaves out the locals that a script does not use: Lua makes all
// that it has anew in every call.
func withoutUnused(source string) string {
	chunks := chunksOf(source)
	locals := map[string][]string{} // their texts, by name
	var texts []string              // to look through
	for _, c := range chunks {
		if c.local != "" {
			locals[c.local] = append(locals[c.local], c.text)
		} else {
			texts = append(texts, c.text)
		}
	}
	used := map[string]bool{}
	for ; len(texts) > 0; texts = texts[1:] {
		for line := range strings.Lines(texts[0]) {
			code, _, _ := strings.Cut(line, "--")
			for word := range strings.FieldsFuncSeq(code, func(r rune) bool { return !inWord(r) }) {
				if of := locals[word]; of != nil && !used[word] {
					used[word] = true
					texts = append(texts, of...)
				}
			}
		}
	}
	var kept strings.Builder
	for _, c := range chunks {
		if c.local == "" || used[c.local] {
			kept.WriteString(c.text)
		}
	}
	return kept.String()
}

func chunksOf(source string) (chunks []chunk) {
	begin, end := 0, 0 // of the stretch that is no local
	for end < len(source) {
		name, size := localAt(source[end:])
		if name == "" {
			line, _, _ := strings.Cut(source[end:], "\n")
			end = min(end+len(line)+1, len(source))
			continue
		}
		chunks = append(chunks, chunk{text: source[begin:end]}, chunk{source[end : end+size], name})
		end += size
		begin = end
	}
	return append(chunks, chunk{text: source[begin:]})
}

// localAt gives the name and the length of the local with which the source begins,
// "" when it begins with something else. A function ends with its line, or with the
// first line that is "end".
func localAt(source string) (name string, size int) {
	rest, ok := strings.CutPrefix(source, "local ")
	if !ok {
		return "", 0
	}
	line, _, _ := strings.Cut(rest, "\n")
	if head, ok := strings.CutPrefix(line, "function "); ok {
		name, _, _ = strings.Cut(head, "(")
		if !strings.HasSuffix(line, " end") {
			line = rest[:strings.Index(rest, "\nend\n")+len("\nend")]
		}
	} else {
		var value string
		name, value, _ = strings.Cut(line, " = ")
		library, function, of := strings.Cut(value, ".")
		if !of || strings.ContainsFunc(library+function, func(r rune) bool { return !inWord(r) }) {
			return "", 0
		}
	}
	return name, len("local ") + len(line) + len("\n")
}

func inWord(r rune) bool {
	return r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
}
