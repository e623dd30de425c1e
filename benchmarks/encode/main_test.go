package main

import (
	"strings"
	"testing"
)

func TestContestantsAgree(t *testing.T) {
	for _, s := range samples() {
		t.Run(s.name, func(t *testing.T) {
			if err := compare(contestants(s)); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestCompareRefuses(t *testing.T) {
	says := func(name, text string) contestant {
		return contestant{name, func() ([]byte, error) { return []byte(text), nil }}
	}
	for _, tc := range []struct {
		name, theirs, want string
	}{
		{"another order of members", `{"b":[2],"a":1}`, ""},
		{"another value", `{"a":1,"b":[3]}`, "ours and theirs differ"},
		{"a missing member", `{"a":1}`, "ours and theirs differ"},
		{"null for a list", `{"a":1,"b":null}`, "ours and theirs differ"},
		{"a cut body", `{"a":1,"b":[2]`, "theirs: unexpected end of JSON input"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := compare([]contestant{says("ours", `{"a":1,"b":[2]}`), says("theirs", tc.theirs)})
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}
