package deliver

import (
	"strings"
	"unicode/utf8"

	"github.com/streamwatch/streamwatch/internal/invalid"
)

// binaryPreview stands for an answer that people cannot read: an image, or text
// that is compressed.
const binaryPreview = "(binary, not shown)"

// maxPreview bounds a preview, in bytes.
const maxPreview = 4 << 10

// Preview returns the start of a body for Result.ResponsePreview: at most 4 KiB of
// valid UTF-8, or a note that it is binary.
func Preview(body []byte) string { return previewText(string(body[:min(len(body), maxPreview)])) }

// previewText bounds what a sender gives as a preview.
func previewText(text string) string {
	text = text[:min(len(text), maxPreview)]
	if isBinary(text) {
		return binaryPreview
	}
	return invalid.Cut(strings.ToValidUTF8(text, "\ufffd"), maxPreview)
}

// isBinary reports whether text has control characters that no text has, or is
// invalid UTF-8 for more than a quarter of its bytes: old encodings of languages
// with Latin letters have fewer.
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
