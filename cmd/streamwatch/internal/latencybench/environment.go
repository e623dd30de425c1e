package latencybench

import (
	"bufio"
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
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				out["revision"] = s.Value
			}
		}
	}
	if f, err := os.Open("/proc/cpuinfo"); err == nil { // Linux
		defer f.Close()
		for lines := bufio.NewScanner(f); lines.Scan(); {
			if name, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(name) == "model name" {
				out["cpu"] = strings.TrimSpace(value)
				break
			}
		}
	}
	return out
}

// load is the machine's load average of the last minute, where it is known.
func load() map[string]string {
	b, err := os.ReadFile("/proc/loadavg") // Linux
	if err != nil {
		return map[string]string{}
	}
	one, _, _ := strings.Cut(string(b), " ")
	return map[string]string{"load": one}
}
