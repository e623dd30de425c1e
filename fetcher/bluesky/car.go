package bluesky

import (
	"encoding/base32"
	"encoding/binary"
	"errors"
	"strings"

	"github.com/fxamacker/cbor/v2"
)

// linkTag is the CBOR tag of a link: a CID after a byte of 0.
const linkTag = 42

var errCAR = errors.New("bluesky: the blocks of a commit are no CAR")

// carBlocks reads a CAR, version 1 (ipld.io/specs/transport/car/carv1): sections, each
// after its length; the first is a header, the others are a CID and its block. It
// returns the blocks by CID. They share the memory of b.
func carBlocks(b []byte) (map[string][]byte, error) {
	blocks := map[string][]byte{}
	for header := true; len(b) > 0; header = false {
		n, size := binary.Uvarint(b)
		if size <= 0 || n > uint64(len(b)-size) {
			return nil, errCAR
		}
		section := b[size : size+int(n)]
		b = b[size+int(n):]
		if header {
			continue
		}
		end, err := cidEnd(section)
		if err != nil {
			return nil, err
		}
		blocks[string(section[:end])] = section[end:]
	}
	return blocks, nil
}

// cidEnd returns where the CID that b begins with ends. It has the version, the codec,
// the hash function, the hash's length, and the hash. AT Protocol has only version 1.
func cidEnd(b []byte) (int, error) {
	var parts [4]uint64
	end := 0
	for i := range parts {
		n, size := binary.Uvarint(b[end:])
		if size <= 0 {
			return 0, errCAR
		}
		parts[i] = n
		end += size
	}
	if parts[0] != 1 || parts[3] > uint64(len(b)-end) {
		return 0, errCAR
	}
	return end + int(parts[3]), nil
}

// cidOf returns the CID that a link names, "" for a tag that is not a link.
func cidOf(link cbor.Tag) string {
	b, ok := link.Content.([]byte)
	if link.Number != linkTag || !ok || len(b) < 2 || b[0] != 0 {
		return ""
	}
	return string(b[1:])
}

// cidText is the encoding of a CID's text, which begins with the letter b.
var cidText = base32.StdEncoding.WithPadding(base32.NoPadding)

// jsonOf converts a decoded value to the form that has the JSON of
// atproto.com/specs/data-model: a link is {"$link": …}. Bytes, which no record of a
// post has, become null.
func jsonOf(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			v[name] = jsonOf(member)
		}
	case []any:
		for i := range v {
			v[i] = jsonOf(v[i])
		}
	case cbor.Tag:
		return map[string]string{"$link": "b" + strings.ToLower(cidText.EncodeToString([]byte(cidOf(v))))}
	case []byte:
		return nil
	}
	return v
}
