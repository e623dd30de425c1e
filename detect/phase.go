package detect

import (
	"time"

	"github.com/streamwatch/streamwatch/detect/internal/accounts"
)

// Phase is an account's place in its interval, 0 to less than interval, which
// must be above 0: undisturbed, it is polled within a millisecond after the
// moments that are whole intervals and the phase after the Unix epoch. The
// interval is the shortest of the account's subscriptions. The phase follows
// from the handle alone, whatever its case and with or without "@": it is the
// same in every process and after every restart.
func Phase(username string, interval time.Duration) time.Duration {
	return time.Duration(accounts.Hash(accounts.Key(username)) % uint64(interval))
}
