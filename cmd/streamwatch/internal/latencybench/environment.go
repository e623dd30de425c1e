package latencybench

import (
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
)

// environment says on which machine and with what the runner runs.
func environment() map[string]string {
	out := map[string]string{
		"go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH, "cpus": strconv.Itoa(runtime.NumCPU()),
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		out["streamwatch"] = info.Main.Version
	}
	if b, err := os.ReadFile("/proc/loadavg"); err == nil { // Linux
		out["load"], _, _ = strings.Cut(string(b), " ") // of the last minute
	}
	return out
}
