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

// Phase is an account's place in its interval, 0 to less than interval, which
// must be above 0: undisturbed, it is polled within a millisecond after the
// moments that are whole intervals and the phase after the Unix epoch. The
// interval is the shortest of the account's subscriptions. The phase follows
// from the handle alone, whatever its case and with or without "@": it is the
// same in every process and after every restart.
func Phase(username string, interval time.Duration) time.Duration {
	return time.Duration(hashKey(targetKey(username)) % uint64(interval))
}
