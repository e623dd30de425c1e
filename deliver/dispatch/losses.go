package dispatch

import (
	"log/slog"

	"github.com/streamwatch/streamwatch/deliver"
)

// maxLosses bounds the endpoints that are remembered. If there are more, all are forgotten and the
// next failure of each is logged again.
const maxLosses = 65_536

// losses logs an endpoint when a delivery has failed for good. It counts further ones and logs
// their number when a delivery has succeeded. It is used by one goroutine.
type losses struct {
	Logger *slog.Logger
	failed map[string]int // deliveries since the last success, by endpoint id
}

// failedFor counts a delivery that has failed for good, by its notice.
func (l *losses) failedFor(n deliver.Notice) {
	if l.failed[n.Endpoint] == 0 {
		l.Logger.Warn("delivery failed for good: further ones of the endpoint are counted until one is delivered",
			"delivery", n.DeliveryID, "endpoint", n.Endpoint, "attempts", n.Attempts, "error", n.Reason)
	}
	if l.failed == nil || len(l.failed) >= maxLosses {
		l.failed = map[string]int{}
	}
	l.failed[n.Endpoint]++
}

// delivered notes that a delivery to an endpoint has succeeded.
func (l *losses) delivered(endpointID string) {
	if n := l.failed[endpointID]; n > 0 {
		l.Logger.Info("deliveries succeed again", "endpoint", endpointID, "failed for good", n)
		delete(l.failed, endpointID)
	}
}
