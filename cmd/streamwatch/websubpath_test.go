package main

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// The path of a WebSub address is one that the mux takes, and that requests can have.
func TestWebSubPaths(t *testing.T) {
	env := func(name string) (string, bool) { return strings.Repeat("0123456789abcdef", 4), name == "S" }
	for path, want := range map[string]bool{
		"/websub": true, "/websub/": true, "/a/b.c/é": true, "/a:b": true,
		"/": false, "/v1/x": false, "/console/x": false,
		"/{id}": false, "/a}": false, "/a%7Bb": false, "/a b": false, "/a%20b": false, "/a%09b": false, "/a%0Ab": false,
		"/a//b": false, "//a": false, "/a/../b": false, "/a/./b": false, "/..": false, "/a%2520b": false,
	} {
		args := []string{"check", "-platform", "bluesky", "-source", "f=feed,contact=a@example.com,stream=https://example.com" + path + ",token=S"}
		err := run(t.Context(), process{env, io.Discard, io.Discard}, args)
		if want && err != nil || !want && (status(err) != 78 || !strings.HasPrefix(err.Error(), "-source f: stream ")) {
			t.Errorf("%s: status %d, error %v, want it allowed: %t", path, status(err), err, want)
		}
		if err != nil {
			continue
		}
		f := sourceFlag{streamURL: "https://example.com" + path}
		mux := http.NewServeMux()
		mux.Handle(f.streamPath(), http.NotFoundHandler()) // panics on what it does not take
		r, err := http.NewRequestWithContext(t.Context(), "POST", f.streamURL+"/id", nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, pattern := mux.Handler(r); pattern != f.streamPath() && !strings.HasSuffix(path, "/") {
			t.Errorf("%s: hubs reach %q", path, pattern)
		}
	}
}
