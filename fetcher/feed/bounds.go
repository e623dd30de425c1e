package feed

// maxDepth is the largest allowed depth of nested elements. It is limited because the parser is
// recursive.
const maxDepth = 256

// The limits of a document. The parser needs about 1,000 bytes of memory for an item, and about
// 500 for an element, an attribute or a JSON object, even for a short one.
const (
	maxItems = 20_000
	maxMarks = 300_000 // elements and attributes together, or objects
)

// objects counts the objects of a JSON document, which need not be valid.
func objects(text string) (n int) {
	inString := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case c == '{' && !inString:
			n++
		}
	}
	return n
}
