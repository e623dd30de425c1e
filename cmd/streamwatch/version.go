package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
)

// runVersion is the command version.
func runVersion(_ context.Context, p process, args []string) error {
	fs := newFlags("version", "Version prints the module's version, the commit it was built from, and the version of Go.")
	if err := fs.parse(p, args); err != nil {
		return err
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return errors.New("version: the program was built without module support")
	}
	_, err := fmt.Fprint(p.out, versionText(info))
	return err
}

// versionText returns the version, commit and Go version of a build. The commit is unknown for a build
// with -buildvcs=false and for a downloaded module, whose version may contain it.
func versionText(info *debug.BuildInfo) string {
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
	return fmt.Sprintf("streamwatch %s\ncommit      %s\ngo          %s %s/%s\n", cmp.Or(info.Main.Version, "unknown"), commit,
		info.GoVersion, cmp.Or(set["GOOS"], runtime.GOOS), cmp.Or(set["GOARCH"], runtime.GOARCH))
}
