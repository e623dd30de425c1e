package main

import (
	"runtime/debug"
	"testing"
)

func TestVersion(t *testing.T) {
	built := debug.Module{Version: "v1.2.3"}
	for _, c := range []struct {
		info debug.BuildInfo
		want version
	}{
		{debug.BuildInfo{GoVersion: "go1.26.8", Main: built, Settings: []debug.BuildSetting{
			{Key: "GOOS", Value: "linux"}, {Key: "GOARCH", Value: "arm64"}, {Key: "vcs.revision", Value: "0abc"},
			{Key: "vcs.time", Value: "2026-01-02T03:04:05Z"}, {Key: "vcs.modified", Value: "true"},
		}}, version{"v1.2.3", "0abc of 2026-01-02T03:04:05Z, modified", "go1.26.8", "linux/arm64"}},
		{debug.BuildInfo{GoVersion: "go1.26.8", Settings: []debug.BuildSetting{{Key: "GOOS", Value: "js"}, {Key: "GOARCH", Value: "wasm"}}},
			version{"unknown", "unknown", "go1.26.8", "js/wasm"}},
	} {
		if got := versionOf(&c.info); got != c.want {
			t.Errorf("%+v, want %+v", got, c.want)
		}
	}
}
