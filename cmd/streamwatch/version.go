package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/streamwatch/streamwatch/internal/command"
)

// defineVersion is the command version.
func defineVersion(f *command.Flags) command.Run {
	asJSON := f.JSON()
	return func(_ context.Context, p process) error {
		info, ok := debug.ReadBuildInfo()
		if !ok {
			return errors.New("version: the program was built without module support")
		}
		v := versionOf(info)
		if *asJSON {
			return command.PrintJSON(p.Out, v)
		}
		fmt.Fprintf(p.Out, "streamwatch %s\ncommit      %s\ngo          %s %s\n", v.Version, v.Commit, v.Go, v.Platform)
		return nil
	}
}

// version is that of a build. The commit is unknown for a build with -buildvcs=false and for a
// downloaded module, whose version may contain it.
type version struct {
	Version  string `json:"version"`
	Commit   string `json:"commit"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func versionOf(info *debug.BuildInfo) version {
	set := map[string]string{}
	for _, s := range info.Settings {
		set[s.Key] = s.Value
	}
	commit := cmp.Or(set["vcs.revision"], "unknown")
	if at := set["vcs.time"]; at != "" {
		commit += " of " + at
	}
	if set["vcs.modified"] == "true" {
		commit += ", modified"
	}
	return version{cmp.Or(info.Main.Version, "unknown"), commit, info.GoVersion,
		cmp.Or(set["GOOS"], runtime.GOOS) + "/" + cmp.Or(set["GOARCH"], runtime.GOARCH)}
}
