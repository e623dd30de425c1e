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
	more, err := io.ReadAll(zipped(t, `{"end":{"polls":0}}`))
	if err != nil {
		t.Fatal(err)
	}
	for name, in := range map[string][]byte{"cut": data[:len(data)-4], "another sum": other, "more behind the end": slices.Concat(data, more)} {
		if _, err := recorder.Read(bytes.NewReader(in)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
