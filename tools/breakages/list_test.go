package main

import "testing"

// What a row breaks stands in its file exactly once. That it turns a test red is
// for the program.
func TestListMatchesTheSource(t *testing.T) {
	if err := checkList("../.."); err != nil {
		t.Error(err)
	}
}

// A row whose text is gone, or is there twice, is found.
func TestListThatDoesNotMatch(t *testing.T) {
	had := list
	defer func() { list = had }()
	for _, row := range []struct {
		name string
		b    breakage
	}{
		{"a text that is not there", breakage{name: "n", file: "tools/go.mod", old: "nowhere to be found"}},
		{"a text that is there twice", breakage{name: "n", file: "tools/go.mod", old: "o"}},
		{"a file that is not there", breakage{name: "n", file: "tools/none", old: "module"}},
	} {
		list = []breakage{row.b}
		if err := checkList("../.."); err == nil {
			t.Errorf("%s: no error", row.name)
		}
	}
}
