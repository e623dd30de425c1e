package recorder

import (
	"errors"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fleet"
)

// failure is one of the errors that an error wraps, as far as the engine tells them apart.
type failure struct {
	Kind       string        `json:"kind"` // a key of sentinels, or one of those below
	RetryAfter time.Duration `json:"retry_after_ns,omitempty"`
	Target     bool          `json:"target,omitempty"` // see fetcher.RateLimitError
	All        bool          `json:"all,omitempty"`
	Code       int           `json:"code,omitempty"`
	Text       string        `json:"text,omitempty"` // where nothing is hidden
}

const (
	kindLimit    = "rate limit"
	kindStatus   = "status"
	kindArgument = "argument"
	kindOther    = "other"
)

// sentinels are errors that the engine tells apart by identity.
var sentinels = []struct {
	kind string
	err  error
}{
	{"not found", fetcher.ErrNotFound}, {"unauthorized", fetcher.ErrUnauthorized}, {"protected", fetcher.ErrProtected},
	{"malformed", fetcher.ErrMalformed}, {"unsupported", fetcher.ErrUnsupported}, {"fenced", fleet.ErrFenced},
}

// failures returns the failures of err; nil for nil.
func (h *hider) failures(err error) (all []failure) {
	if err == nil {
		return nil
	}
	var rl *fetcher.RateLimitError
	var se *fetcher.StatusError
	var arg *fetcher.ArgumentError
	if errors.As(err, &rl) && rl != nil {
		all = append(all, failure{Kind: kindLimit, RetryAfter: rl.RetryAfter, Target: rl.Target, All: rl.All})
	}
	if errors.As(err, &se) && se != nil {
		all = append(all, failure{Kind: kindStatus, Code: se.Code, RetryAfter: se.RetryAfter})
	}
	if errors.As(err, &arg) {
		all = append(all, failure{Kind: kindArgument})
	}
	for _, s := range sentinels {
		if errors.Is(err, s.err) {
			all = append(all, failure{Kind: s.kind})
		}
	}
	if len(all) == 0 {
		all = append(all, failure{Kind: kindOther})
	}
	if h.plain {
		all[0].Text = err.Error()
	}
	return all
}

// errorOf returns an error that the engine cannot tell from the recorded one.
func errorOf(all []failure) error {
	var errs []error
	for _, f := range all {
		switch f.Kind {
		case kindLimit:
			errs = append(errs, &fetcher.RateLimitError{RetryAfter: f.RetryAfter, Target: f.Target, All: f.All})
		case kindStatus:
			errs = append(errs, &fetcher.StatusError{Code: f.Code, RetryAfter: f.RetryAfter})
		case kindArgument:
			errs = append(errs, &fetcher.ArgumentError{})
		default:
			err := errors.New("recorder: recorded error " + f.Text)
			for _, s := range sentinels {
				if s.kind == f.Kind {
					err = s.err
				}
			}
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
