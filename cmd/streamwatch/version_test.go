package main

import (
	"runtime/debug"
	"testing"
)

func TestVersionText(t *testing.T) {
	built := debug.Module{Version: "v1.2.3"}
	for _, c := range []struct {
		info debug.BuildInfo
		want string
	}{
		{debug.BuildInfo{GoVersion: "go1.26.8", Main: built, Settings: []debug.BuildSetting{
			{Key: "GOOS", Value: "linux"}, {Key: "GOARCH", Value: "arm64"}, {Key: "vcs.revision", Value: "0abc"},
			{Key: "vcs.time", Value: "2026-01-02T03:04:05Z"}, {Key: "vcs.modified", Value: "true"},
		}}, "streamwatch v1.2.3\ncommit      0abc of 2026-01-02T03:04:05Z, modified\ngo          go1.26.8 linux/arm64\n"},
		{debug.BuildInfo{GoVersion: "go1.26.8", Settings: []debug.BuildSetting{{Key: "GOOS", Value: "js"}, {Key: "GOARCH", Value: "wasm"}}},
			"streamwatch unknown\ncommit      unknown\ngo          go1.26.8 js/wasm\n"},
	} {
		if got := versionText(&c.info); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
