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

// boms are the byte order marks, the longer ones first.
var boms = []struct {
	mark []byte
	enc  encoding.Encoding
}{
	{[]byte{0xEF, 0xBB, 0xBF}, unicode.UTF8},
	{[]byte{0xFE, 0xFF}, unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)},
	{[]byte{0xFF, 0xFE}, unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)},
}

// toUTF8 gives a document in UTF-8. The encoding is that of the byte order mark, else of
// UTF-16 without one, else UTF-8 if the document is that, else of the charset of the
// Content-Type, else of the XML declaration, else windows-1252. A document that is
// nearly UTF-8 and names no other encoding is that, with U+FFFD for what is wrong in it.
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
	if utf8.Valid(body) { // whatever is declared: hardly any other encoding of 8 bits is by chance
		escapes := bytes.IndexByte(body, 0x1b) >= 0 // which no document has in UTF-8
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

// sevenBit reports whether an encoding has ASCII bytes alone.
func sevenBit(name string) bool {
	name = strings.ToLower(name)
	return strings.HasPrefix(name, "iso-2022") || name == "hz-gb-2312"
}

// bare16 recognises UTF-16 without a byte order mark by the first character, which is
// "<", "{" or white space.
func bare16(body []byte) encoding.Encoding {
	if len(body) < 4 {
		return nil
	}
	first := func(c byte) bool { return strings.IndexByte("<{ \t\r\n", c) >= 0 }
	switch {
	case body[0] == 0 && first(body[1]) && body[2] == 0:
		return unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)
	case first(body[0]) && body[1] == 0 && body[3] == 0:
		return unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)
	}
	return nil
}

var declaration = regexp.MustCompile(`^\s*<\?xml\s[^>]{0,200}?encoding\s*=\s*["']([A-Za-z0-9._:-]{1,40})["']`)

// declared is the encoding that an XML declaration names, in lower case, "" for none.
func declared(body []byte) string {
	if m := declaration.FindSubmatch(body[:min(len(body), 512)]); m != nil {
		return strings.ToLower(string(m[1]))
	}
	return ""
}

// nearlyUTF8 reports whether a document has more characters of several bytes in UTF-8
// than bytes that are wrong: hardly any is so by chance. An end that is cut off is not
// wrong.
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

// decode never fails: what an encoding does not have becomes U+FFFD.
func decode(enc encoding.Encoding, body []byte) string {
	text, err := enc.NewDecoder().Bytes(body)
	if err != nil {
		text = body
	}
	return strings.ToValidUTF8(string(text), "\ufffd")
}
