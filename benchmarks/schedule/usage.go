//go:build unix

package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/metrics"
	"syscall"
	"time"
)

// memory is what is reachable on the heap, and the goroutines' stacks, in bytes.
func memory() int64 {
	runtime.GC()
	runtime.GC() // what finalizers and pools held for one cycle
	s := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}}
	metrics.Read(s)
	return int64(s[0].Value.Uint64() + s[1].Value.Uint64())
}

// usage is what the process has used so far.
type usage struct {
	cpu             time.Duration // of all cores, in user and kernel mode
	collections     int
	pauses, longest time.Duration // the world stopped for the collector
	stats           runtime.MemStats
}

func takeUsage() usage {
	var u usage
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err == nil {
		u.cpu = time.Duration(r.Utime.Nano() + r.Stime.Nano())
	}
	runtime.ReadMemStats(&u.stats)
	u.collections = int(u.stats.NumGC)
	u.pauses = time.Duration(u.stats.PauseTotalNs)
	return u
}

// since is what was used after an earlier moment. The longest pause is of the
// last 256.
func (u usage) since(earlier usage) usage {
	u.cpu -= earlier.cpu
	u.collections -= earlier.collections
	u.pauses -= earlier.pauses
	ring := len(u.stats.PauseNs)
	for i := range min(u.collections, ring) {
		p := u.stats.PauseNs[(int(u.stats.NumGC)-1-i+ring)%ring]
		u.longest = max(u.longest, time.Duration(p))
	}
	return u
}

// stall stops this process for d, and returns when it runs again: a shell, which
// goes on, sends the signals.
func stall(d time.Duration) error {
	script := fmt.Sprintf("kill -STOP %[1]d && sleep %[2]f; kill -CONT %[1]d", os.Getpid(), d.Seconds())
	return exec.Command("sh", "-c", script).Run()
}
