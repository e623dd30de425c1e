package feed

// maxDepth bounds how deep elements are nested in a feed: the parser is recursive.
const maxDepth = 256

// The parser makes some 1,000 bytes of an item, and some 500 of an element, an attribute
// or an object of JSON, however short: a document of others than these is not for it.
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
