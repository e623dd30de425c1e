package feed

import (
	"bytes"
	"mime"
	"regexp"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/unicode"
)

// boms are the byte order marks, longer ones first.
var boms = []struct {
	mark []byte
	enc  encoding.Encoding
}{
	{[]byte{0xEF, 0xBB, 0xBF}, unicode.UTF8},
	{[]byte{0xFE, 0xFF}, unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)},
	{[]byte{0xFF, 0xFE}, unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)},
}

// toUTF8 converts a document to UTF-8. It uses the first of these encodings that applies: that
// of the byte order mark; UTF-16 without a mark; UTF-8, if the document is valid; that of the
// Content-Type; that of the XML declaration; windows-1252. A document that is nearly UTF-8 and
// names no other encoding counts as UTF-8. Invalid bytes become U+FFFD.
func toUTF8(body []byte, contentType string) string {
	for _, b := range boms {
		if rest, ok := bytes.CutPrefix(body, b.mark); ok {
			return decode(b.enc, rest)
		}
	}
	if enc := bare16(body); enc != nil {
		return decode(enc, body)
	}
	_, params, _ := mime.ParseMediaType(contentType)
	if utf8.Valid(body) { // text in another 8-bit encoding is rarely valid UTF-8
		escapes := bytes.IndexByte(body, 0x1b) >= 0 // a document in UTF-8 has none
		if !sevenBit(declared(body)) && !(escapes && sevenBit(params["charset"])) {
			return string(body)
		}
	}
	for _, name := range []string{params["charset"], declared(body)} {
		if enc, label := charset.Lookup(name); enc != nil && label != "utf-8" && label != "replacement" && !strings.HasPrefix(label, "utf-16") {
			return decode(enc, body)
		}
	}
	if nearlyUTF8(body) {
		return strings.ToValidUTF8(string(body), "\ufffd")
	}
	enc, _ := charset.Lookup("windows-1252")
	return decode(enc, body)
}

// sevenBit reports whether an encoding uses ASCII bytes only.
func sevenBit(name string) bool {
	name = strings.ToLower(name)
	return strings.HasPrefix(name, "iso-2022") || name == "hz-gb-2312"
}

// bare16 returns the encoding of a document in UTF-16 without a byte order mark, or nil.
// It expects the first two characters to be ASCII.
func bare16(body []byte) encoding.Encoding {
	if len(body) < 4 {
		return nil
	}
	switch {
	case body[0] == 0 && body[2] == 0:
		return unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)
	case body[1] == 0 && body[3] == 0:
		return unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)
	}
	return nil
}

var declaration = regexp.MustCompile(`^\s*<\?xml\s[^>]{0,200}?encoding\s*=\s*["']([A-Za-z0-9._:-]{1,40})["']`)

// declared returns the encoding in the XML declaration, in lower case, or "".
func declared(body []byte) string {
	if m := declaration.FindSubmatch(body[:min(len(body), 512)]); m != nil {
		return strings.ToLower(string(m[1]))
	}
	return ""
}

// nearlyUTF8 reports whether a document has more multi-byte UTF-8 characters than invalid
// bytes. That is rare for text in another encoding. A last character that is cut off does not
// count as invalid.
func nearlyUTF8(body []byte) bool {
	right, wrong := 0, 0
	for i := 0; i < len(body); {
		if body[i] < utf8.RuneSelf {
			i++
			continue
		}
		r, size := utf8.DecodeRune(body[i:])
		switch {
		case r != utf8.RuneError || size > 1:
			right++
		case utf8.FullRune(body[i:]):
			wrong++
		}
		i += size
	}
	return right > wrong
}

// decode converts body to UTF-8. It never fails: invalid bytes become U+FFFD.
func decode(enc encoding.Encoding, body []byte) string {
	text, _ := enc.NewDecoder().Bytes(body)
	return strings.ToValidUTF8(string(text), "\ufffd")
}
