package detect

import "time"

// gridAfter is the first moment after now, Unix nanoseconds, of the grid with
// the given step whose phase is the target's hash. A target keeps its phase
// over restarts, and targets spread evenly over the step.
func gridAfter(now int64, hash uint64, step time.Duration) int64 {
	phase := int64(hash % uint64(step))
	n := (now - phase) / int64(step)
	due := phase + n*int64(step)
	for due <= now {
		due += int64(step)
	}
	return due
}
