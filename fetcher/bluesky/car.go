package bluesky

import (
	"encoding/base32"
	"encoding/binary"
	"errors"
	"strings"

	"github.com/fxamacker/cbor/v2"
)

// linkTag is the CBOR tag of a link. Its content is a zero byte and a CID.
const linkTag = 42

var errCAR = errors.New("bluesky: the blocks of a commit are no CAR")

// carBlocks parses a CAR archive, version 1 (ipld.io/specs/transport/car/carv1). It returns the
// blocks by CID; the blocks share the memory of b. A CAR is a sequence of sections, each preceded
// by its length. The first section is a header; each other section is a CID and its block.
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

// cidEnd returns the length of the CID at the start of b. A CID consists of the version (which
// must be 1), the codec, the hash function, the hash's length in bytes, and the hash.
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

// cidOf returns the CID in a link, or "" for a tag that is not a link.
func cidOf(link cbor.Tag) string {
	b, ok := link.Content.([]byte)
	if link.Number != linkTag || !ok || len(b) < 2 || b[0] != 0 {
		return ""
	}
	return string(b[1:])
}

// cidText is the encoding for the text form of a CID, after its prefix "b".
var cidText = base32.StdEncoding.WithPadding(base32.NoPadding)

// jsonOf converts decoded CBOR to a value for json.Marshal. As in atproto.com/specs/data-model,
// a link becomes {"$link": …}. Bytes become null, because records of posts have none.
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
