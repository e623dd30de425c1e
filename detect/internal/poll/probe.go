package poll

import (
	"errors"

	"github.com/streamwatch/streamwatch/fetcher"
)

// probeBucket returns the bucket of probes. shared is false if probes have a limit of their own:
// without a Bucketer, if they have a rate of their own.
func (e *Env) probeBucket() (name string, shared bool) {
	return e.Bucket(fetcher.Call{Role: fetcher.RoleProbe}), e.Roles.Buckets != nil || e.ProbesShare
}

// ProbesClosed returns until when the bucket of probes is closed, 0 if it is open.
func (e *Env) ProbesClosed() (until int64) {
	if !e.Budget.Buckets.Any() {
		return 0
	}
	name, _ := e.probeBucket()
	return e.Budget.Buckets.Until(name)
}

// Probed notes the result of a probe that was made at called. A refusal because of a rate limit
// closes the bucket that probes share with other calls.
func (e *Env) Probed(called int64, limit fetcher.RateLimit, err error) {
	name, shared := e.probeBucket()
	var rl *fetcher.RateLimitError
	switch {
	case closesBudget(err) && errors.As(err, &rl) && (shared || rl.All):
		e.refused(name, called, rl, err)
	case err == nil && shared:
		e.answered(func() string { return name }, limit, e.Now())
	}
}
