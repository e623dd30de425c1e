package scan_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"unicode/utf8"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/scan"
)

// FuzzScan compares each pass with encoding/json: the same documents are valid, and, if
// their names are plain, have the same elements with the same members.
func FuzzScan(f *testing.F) {
	for _, doc := range []string{
		`[{"id":"1","a":{"b":"x"}},{"ID":2,"a":{"B":null}},{"\u0069d":"é","A":{"b":[1,{}]},"a":7}]`,
		`{"list":[{"id":"1"},null,7,"x",[{"id":2}]],"top":"c","list":[{"id":{},"id":false}],"TOP":-1.5e3}`,
		`{"liſt":[{"id":"1"}], "list":null, "tOp" : 1}`, ` [ ] `, `{ }`, `[[[[]]],{"a":{"a":{"b":1}}}]`,
		`[{"id":1,"x":{"y":[1]},"a":{"b":2}},{"id":3,"x":{"y":[1]},"a":{"b":4}},{"id":5,"x":{"y":[1]}}]`,
		`[{"x":{"y":1}},{"x":{"y":1}},{"x":{"y":1}]`, `[{"x":{"y":1}},{"x":{"y":1}{}},{"x" :{"y":1}}]`,
		`[{"a":{"x":{},"b":1},"x":{}},{"a":{"b":2,"x":{}},"x":{},"id":3},{"x":{"a":{}},"a":{"x":{}}}]`,
		`"\ud800\n\"\\"`, `-0.0E-1`, "[\"\xff\",{\"a\":{\"b\xff\":1,\"b\":\"\xff\\/\"}}]",
	} {
		f.Add([]byte(doc))
	}
	for _, b := range broken {
		f.Add([]byte(b.doc))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		var list lastList
		_ = json.Unmarshal(doc, &list)
		compare(t, atTop, doc, list, nil)

		var object struct {
			List lastList        `json:"list"`
			Top  json.RawMessage `json:"top"`
		}
		_ = json.Unmarshal(doc, &object)
		compare(t, inside, doc, object.List, object.Top)
	})
}

// plain reports whether a document has names that encoding/json takes as they are.
func plain(doc []byte) bool {
	return !bytes.ContainsFunc(doc, func(r rune) bool { return r == '\\' || r >= utf8.RuneSelf || 'A' <= r && r <= 'Z' })
}

// maxMembers is as many as are expected of an element.
const maxMembers = 48

// lastList keeps the elements of a list, and passes over anything else.
type lastList []json.RawMessage

func (l *lastList) UnmarshalJSON(b []byte) error {
	if b[0] != '[' {
		return nil
	}
	*l = lastList{}
	return json.Unmarshal(b, (*[]json.RawMessage)(l))
}

func compare(t *testing.T, plan *scan.Plan, doc []byte, list lastList, top json.RawMessage) {
	t.Helper()
	type element struct {
		ID json.RawMessage `json:"id"`
		A  struct {
			B json.RawMessage `json:"b"`
		} `json:"a"`
	}
	s := plan.Scan(doc)
	var raws, ids, bs []scan.Value
	for s.Next() {
		raws, ids, bs = append(raws, s.Element()), append(ids, s.Value(0)), append(bs, s.Value(1))
	}
	if valid := json.Valid(doc); valid != (s.Err() == nil) {
		t.Fatalf("error %v, encoding/json calls it valid: %t", s.Err(), valid)
	}
	if s.Err() != nil {
		if !errors.Is(s.Err(), fetcher.ErrMalformed) || s.Next() {
			t.Errorf("error %v, want ErrMalformed and the end", s.Err())
		}
		return
	}
	if !plain(doc) {
		return
	}
	n, ok := s.Len()
	if n != len(list) || ok != (list != nil) {
		t.Fatalf("%d elements, %t, encoding/json has %d, %t", n, ok, len(list), list != nil)
	}
	raws, ids, bs = raws[len(raws)-n:], ids[len(ids)-n:], bs[len(bs)-n:]
	for i, raw := range list {
		var want element
		_ = json.Unmarshal(raw, &want)
		if !slices.Equal(raws[i], scan.Value(raw)) || !slices.Equal(ids[i], scan.Value(want.ID)) || !slices.Equal(bs[i], scan.Value(want.A.B)) {
			t.Errorf("element %q with id %q and b %q, encoding/json has %q, %q, %q", raws[i], ids[i], bs[i], raw, want.ID, want.A.B)
		}
		var text string
		isText := len(want.ID) > 0 && want.ID[0] == '"' && json.Unmarshal(want.ID, &text) == nil
		if got, ok := ids[i].Text(); string(got) != text || ok != isText {
			t.Errorf("text %q, %t of %q, encoding/json has %q, %t", got, ok, ids[i], text, isText)
		}
	}
	if !slices.Equal(s.Top(0), scan.Value(top)) {
		t.Errorf("top %q, encoding/json has %q", s.Top(0), top)
	}
}

// FuzzText compares strings with encoding/json.
func FuzzText(f *testing.F) {
	for _, s := range []string{`\ud83d\ude80`, `\ud83d\u0041\n`, "\xff\\u00e9\\/", `\uD83D\uD83D\uDE80é`, `plain`, "\xed\xa0\x80\\t"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v := scan.Value(`"` + s + `"`)
		var want string
		if json.Unmarshal(v, &want) != nil {
			return
		}
		if got, ok := v.Text(); !ok || string(got) != want {
			t.Errorf("%q, %t, want %q", got, ok, want)
		}
	})
}
