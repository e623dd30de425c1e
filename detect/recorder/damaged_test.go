package recorder_test

import (
	"bytes"
	"io"
	"slices"
	"testing"

	"github.com/streamwatch/streamwatch/detect/recorder"
)

// A dump whose last bytes are missing, or changed, is refused although its last line is
// there: the sum of the file is behind it.
func TestReadChecksTheSum(t *testing.T) {
	data, err := io.ReadAll(zipped(t, `{"recording":{"format":"streamwatch recording","version":1}}`+"\n"+`{"end":{"polls":0}}`+"\n"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := recorder.Read(bytes.NewReader(data)); err != nil {
		t.Fatal(err)
	}
	other := slices.Clone(data)
	other[len(other)-6] ^= 1 // the sum of the text
	part := func(text string) []byte {
		p, err := io.ReadAll(zipped(t, text))
		if err != nil {
			t.Fatal(err)
		}
		return slices.Concat(data, p)
	}
	if _, err := recorder.Read(bytes.NewReader(part(`{"end":{"polls":0}}`))); err != nil {
		t.Errorf("with another part: %v", err)
	}
	for name, in := range map[string][]byte{"cut": data[:len(data)-4], "another sum": other,
		"a part without an end": part(`{"run":{"run":1}}`), "a part that lacks polls": part(`{"end":{"polls":1}}`), "no part behind the end": slices.Concat(data, []byte("more"))} {
		if _, err := recorder.Read(bytes.NewReader(in)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
