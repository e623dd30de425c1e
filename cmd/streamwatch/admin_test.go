package main

import (
	"bytes"
	"io"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Keys and credits are issued beside a server, on its store.
func TestAdmin(t *testing.T) {
	db := filepath.Join(t.TempDir(), "a.db")
	do := func(args string) (string, error) {
		var out bytes.Buffer
		err := run(t.Context(), process{noEnv, &out, io.Discard}, append(strings.Fields(args), "-db", db))
		return out.String(), err
	}
	out, err := do("key -owner acme -name production -credits 20")
	m := regexp.MustCompile(`(?m)^id +(\S+)\nkey +(sw_live_\w+)$`).FindStringSubmatch(out)
	if err != nil || m == nil {
		t.Fatalf("%q, %v", out, err)
	}
	if !strings.Contains(out, "\nin   "+db+"\n") {
		t.Errorf("%q: want the store in which the key is", out)
	}
	if out, err = do("key -owner acme -name operations -scope admin"); err != nil {
		t.Fatalf("%q, %v", out, err)
	}
	if out, err = do("keys -owner acme"); err != nil || !regexp.MustCompile(`production +sw_live_\S+ +write .*\n.*operations +sw_live_\S+ +admin `).MatchString(out) {
		t.Errorf("%q, %v: want the scopes", out, err)
	}
	if _, err = do("key -owner acme -scope root"); err == nil || !strings.Contains(err.Error(), "want read, write or admin") {
		t.Errorf("-scope root: %v", err)
	}
	for range 2 {
		if out, err = do("credits -owner acme -credits 5 -id invoice-1"); err != nil || out != "acme has 25 credits\n" {
			t.Errorf("%q, %v: want 25 credits, also the second time", out, err)
		}
	}
	if out, err = do("keys -owner acme"); err != nil || !strings.Contains(out, m[1]) || !strings.Contains(out, "true") || strings.Contains(out, m[2]) {
		t.Errorf("%q, %v", out, err)
	}
	if _, err = do("revoke -owner other -id " + m[1]); err == nil || !strings.Contains(err.Error(), `-owner "other" has no key`) {
		t.Errorf("another owner's key: %v", err)
	}
	if _, err = do("revoke -owner acme -id " + m[1]); err != nil {
		t.Error(err)
	}
	if out, _ = do("keys -owner acme"); !strings.Contains(out, "false") {
		t.Errorf("%q: want a key that is not valid", out)
	}
}

func TestParseAdmin(t *testing.T) {
	for args, want := range map[string]string{
		"key":              "-owner is missing",
		"credits -owner a": "-credits 0 is not allowed",
		"revoke -owner a":  "-id is missing",
		"key -owner a -name b -credits 5 -rate 60": "",
	} {
		f := strings.Fields(args)
		_, err := parseAdmin(process{env: noEnv, out: io.Discard}, f[0], f[1:])
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: error %v, want %q", args, err, want)
		}
	}
}
