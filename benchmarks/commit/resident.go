package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"
)

// resident reads a size of this process in bytes: VmHWM, the most that was
// resident, or VmRSS, what is. Source: proc_pid_status(5).
func resident(field string) (int64, error) {
	f, err := os.Open("/proc/self/status")
	if err != nil {
		return 0, fmt.Errorf("commit: memory cannot be measured here: %w", err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var kib int64
		if value, ok := strings.CutPrefix(lines.Text(), field+":"); ok {
			_, err := fmt.Sscan(value, &kib)
			return kib << 10, err
		}
	}
	return 0, fmt.Errorf("commit: /proc/self/status has no %s", field)
}
