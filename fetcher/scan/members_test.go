package scan_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"

	"github.com/streamwatch/streamwatch/fetcher/scan"
)

func TestMembers(t *testing.T) {
	for _, tc := range []struct {
		name, v string
		want    []string // names and values
	}{
		{"nothing", ``, nil},
		{"null", `null`, nil},
		{"a list", `[{"a":1}]`, nil},
		{"a string", `"a"`, nil},
		{"an empty object", `{ }`, nil},
		{"values of all types", `{"a":"x","b":-1.5e3,"c":[1,{"d":2}],"e":{"f":"}"},"g":null,"h":true}`,
			[]string{"a", `"x"`, "b", `-1.5e3`, "c", `[1,{"d":2}]`, "e", `{"f":"}"}`, "g", `null`, "h", `true`}},
		{"white space", "{ \"a\" :\t1 ,\n\"b\" : [ ] }", []string{"a", "1", "b", "[ ]"}},
		{"a name twice", `{"a":1,"a":2}`, []string{"a", "1", "a", "2"}},
		{"an empty name", `{"":1}`, []string{"", "1"}},
		{"names as they are", `{"ID":1,"i\u0064":2,"é":3}`, []string{"ID", "1", `i\u0064`, "2", "é", "3"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got []string
			for name, v := range scan.Value(tc.v).Members() {
				got = append(got, string(name), string(v))
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
	t.Run("up to where it is left", func(t *testing.T) {
		for name := range scan.Value(`{"a":1,"b":2}`).Members() {
			if string(name) != "a" {
				t.Errorf("went on to %q", name)
			}
			break
		}
	})
}

func TestMembersAllocateNothing(t *testing.T) {
	v := scan.Value(`{"id":"1","account":{"id":"2"},"tags":[{"name":"x"}]}`)
	n := 0
	if allocs := testing.AllocsPerRun(100, func() {
		for name, value := range v.Members() {
			n += len(name) + len(value)
		}
	}); allocs != 0 || n == 0 {
		t.Errorf("%g allocations, %d bytes, want none and some", allocs, n)
	}
}

// FuzzMembers compares the members with those of a json.Decoder. Values that are not
// valid objects only have to come to an end.
func FuzzMembers(f *testing.F) {
	for _, doc := range []string{`{"a":1,"A":{"b":[]},"\u0061":"é"}`, `{"ſ":1,"":{}}`, `{}`, `[]`, `{"a":1,}`, `{"a`, "{\"a\xff\":1}"} {
		f.Add([]byte(doc))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		doc = bytes.TrimSpace(doc)
		type member struct{ name, value string }
		var got []member
		for name, v := range scan.Value(doc).Members() {
			got = append(got, member{string(name), string(v)})
		}
		if !json.Valid(doc) || doc[0] != '{' || !plain(doc) {
			return
		}
		var want []member
		d := json.NewDecoder(bytes.NewReader(doc))
		d.UseNumber()
		_, _ = d.Token()
		for d.More() {
			name, _ := d.Token()
			var v json.RawMessage
			if err := d.Decode(&v); err != nil {
				t.Skip(err) // nested deeper than a Decoder counts
			}
			want = append(want, member{name.(string), string(v)})
		}
		if !slices.Equal(got, want) {
			t.Errorf("members %q, want %q", got, want)
		}
	})
}
