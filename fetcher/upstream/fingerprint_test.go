package upstream

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestConditions(t *testing.T) {
	const tag, modified = "Etag", "Last-Modified"
	ago := func(d time.Duration) string { return noon.Add(-d).Format(http.TimeFormat) }
	long := `"` + strings.Repeat("x", maxValidator) + `"`
	for _, tc := range []struct {
		name   string
		header []string
		want   string // name and value of the only condition, "" for none
	}{
		{"no validators", nil, ""},
		{"a strong tag", []string{tag, `"abc"`}, `If-None-Match: "abc"`},
		{"a weak tag", []string{tag, `W/"abc"`}, `If-None-Match: W/"abc"`},
		{"an empty tag", []string{tag, `""`}, `If-None-Match: ""`},
		{"a star, which matches everything", []string{tag, `*`}, ""},
		{"a tag without quotes", []string{tag, `abc`}, ""},
		{"half a tag", []string{tag, `"`}, ""},
		{"two tags", []string{tag, `"a", "b"`}, ""},
		{"a tag too long to keep", []string{tag, long}, ""},
		{"a time", []string{modified, ago(time.Hour)}, "If-Modified-Since: " + ago(time.Hour)},
		{"a time of just now", []string{modified, ago(0)}, ""},
		{"a time that posts can still come behind", []string{modified, ago(settled - time.Second)}, ""},
		{"a time they cannot", []string{modified, ago(settled)}, "If-Modified-Since: " + ago(settled)},
		{"a time ahead", []string{modified, ago(-time.Hour)}, ""},
		{"no time", []string{modified, "yesterday"}, ""},
		{"a tag and a time", []string{tag, `"abc"`, modified, ago(time.Hour)}, `If-None-Match: "abc"`},
		{"a tag and a time of just now", []string{tag, `"abc"`, modified, ago(0)}, ""},
		{"a weak tag and a time of just now", []string{tag, `W/"abc"`, modified, ago(0)}, ""},
		{"a tag and a time of a second ago", []string{tag, `"abc"`, modified, ago(time.Second)}, ""},
		{"a tag and a time of two seconds ago", []string{tag, `"abc"`, modified, ago(2 * time.Second)}, `If-None-Match: "abc"`},
		{"a tag and a time ahead", []string{tag, `"abc"`, modified, ago(-time.Hour)}, ""},
		{"a tag and no time", []string{tag, `"abc"`, modified, "yesterday"}, `If-None-Match: "abc"`},
		{"a bad tag and a time", []string{tag, `*`, modified, ago(time.Hour)}, "If-Modified-Since: " + ago(time.Hour)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := ""
			for name, values := range said("body", tc.header...).fingerprint().header() {
				got += name + ": " + strings.Join(values, ",")
			}
			if got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
	for _, tc := range []struct {
		name, want string
		header     []string
	}{
		{"a time from a server without a clock", "", []string{modified, ago(time.Hour)}},
		{"a tag from a server without a clock", `"abc"`, []string{tag, `"abc"`}},
		{"a tag and a time from a server without a clock", `"abc"`, []string{tag, `"abc"`, modified, ago(time.Hour)}},
		{"a tag and a time of just now from a server without a clock", "", []string{tag, `"abc"`, modified, time.Now().UTC().Format(http.TimeFormat)}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := said("body", tc.header...)
			r.ServerTime = time.Time{}
			if h := r.fingerprint().header(); h.Get("If-None-Match") != tc.want || h.Get("If-Modified-Since") != "" {
				t.Errorf("%v, want the tag %s", h, tc.want)
			}
		})
	}
}

// Every byte of a body counts.
func TestFingerprintSeesEveryByte(t *testing.T) {
	body := bytes.Repeat([]byte("0123456789abcdef"), 256)
	want := *(&Response{Body: body}).fingerprint()
	for i := range body {
		body[i] ^= 1
		got := (&Response{Body: body}).fingerprint()
		if got.sum == want.sum {
			t.Fatalf("byte %d does not count", i)
		}
		body[i] ^= 1
	}
	if !want.same((&Response{Body: body}).fingerprint()) {
		t.Error("equal bodies differ")
	}
}

// What telling an unchanged page of 48 KiB costs: see benchmarks/results for what
// it saves.
func BenchmarkFingerprint(b *testing.B) {
	r := &Response{Body: bytes.Repeat([]byte("0123456789abcdef"), 3<<10)}
	b.ReportAllocs()
	b.SetBytes(int64(len(r.Body)))
	for b.Loop() {
		r.hashed = false
		r.fingerprint()
	}
}
