package deliver

import (
	"strings"
	"unicode/utf8"

	"github.com/streamwatch/streamwatch/internal/invalid"
)

// binaryPreview is the preview of a binary body, such as an image or compressed text.
const binaryPreview = "(binary, not shown)"

// maxPreview is the longest preview, in bytes.
const maxPreview = 4 << 10

// Preview returns the start of a body for Result.ResponsePreview: at most 4 KiB of valid UTF-8, or a
// note if the body is binary.
func Preview(body []byte) string { return previewText(string(body[:min(len(body), maxPreview)])) }

// previewText is Preview for a string.
func previewText(text string) string {
	if isBinary(text) {
		return binaryPreview
	}
	return invalid.Cut(strings.ToValidUTF8(text, "\ufffd"), maxPreview)
}

// isBinary reports whether text has control characters other than white space and ESC, or if more
// than a quarter of its bytes, and more than 4, are invalid UTF-8. Texts of languages with Latin
// letters have fewer invalid bytes, even in older encodings.
func isBinary(text string) bool {
	invalid := 0
	for i, r := range text {
		switch {
		case r < ' ' && r != '\t' && r != '\n' && r != '\r' && r != '\f' && r != '\x1b', r == 0x7f:
			return true
		case r == utf8.RuneError:
			if _, size := utf8.DecodeRuneInString(text[i:]); size == 1 {
				invalid++
			}
		}
	}
	return invalid > 4 && invalid > len(text)/4
}
