package deliver

import (
	"strconv"

	"github.com/streamwatch/streamwatch/internal/invalid"
)

// Values allowed in an endpoint's Limits.
const (
	minRate, maxRate = 0.01, 10_000 // attempts a second
	maxBurst         = 10_000
	maxInFlight      = 1024
)

// Validate returns a *FieldError for the first limit that is not allowed.
func (l Limits) Validate() error {
	switch {
	case l.Rate != 0 && !(l.Rate >= minRate && l.Rate <= maxRate): // NaN, too
		return invalid.Field("deliver", "rate_per_second", strconv.FormatFloat(l.Rate, 'g', -1, 64), "0.01 to 10,000, or 0 for any number")
	case l.Burst < 0 || l.Burst > maxBurst:
		return invalid.Field("deliver", "rate_burst", strconv.Itoa(l.Burst), "1 to 10,000, or 0 for a second's")
	case l.Burst > 0 && l.Rate == 0:
		return invalid.Field("deliver", "rate_burst", strconv.Itoa(l.Burst), "0 without a rate_per_second")
	case l.InFlight < 0 || l.InFlight > maxInFlight:
		return invalid.Field("deliver", "max_in_flight", strconv.Itoa(l.InFlight), "1 to 1024, or 0 for the default")
	}
	return nil
}
