package health

import (
	"fmt"
	"net/http"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
)

// MaxWaited is for how long a receiver may ask for waits and not be failing.
const MaxWaited = time.Hour

const (
	failingFailures = 10             // in a row: the endpoint is failing
	disableFailures = 20             // in a row, at least, and for
	disableAfter    = 24 * time.Hour // it is disabled
	disableGone     = 3              // deliveries in a row answered 410
)

// Health counts failures of an endpoint. One success ends a row of
// failures, so that an endpoint that works now and then is never disabled.
type Health struct {
	failures int       // attempts in a row
	since    time.Time // when the first of them began
	gone     int       // deliveries in a row answered 410
	asked    time.Time // when the first attempt began that was answered with a wait
}

// Verdict is a change of the endpoint's record that attempts call for.
type Verdict struct {
	Kind   deliver.NoticeKind // "" for nothing
	Reason string
	Since  time.Time
	Paused bool // disabled for a pause that was too long
	gone   bool // disabled for 410, whatever came before
}

// Record takes an attempt that began at the time. One that was answered with a
// wait is no failure, unless nothing has succeeded for MaxWaited since the first
// such answer: else a receiver that never takes anything would stay active.
func (h *Health) Record(at time.Time, res *deliver.Result, waits bool) Verdict {
	if res.OK {
		was := *h
		*h = Health{}
		if was.failures >= failingFailures {
			return Verdict{Kind: deliver.NoticeRecovered, Since: was.since}
		}
		return Verdict{}
	}
	if waits {
		if h.asked.IsZero() {
			h.asked = at
		}
		if at.Sub(h.asked) < MaxWaited {
			return Verdict{}
		}
	}
	if h.failures++; h.failures == 1 {
		h.since = at
	}
	if res.StatusCode != http.StatusGone {
		h.gone = 0
	} else if h.gone++; h.gone >= disableGone {
		return Verdict{Kind: deliver.NoticeDisabled, gone: true, Since: h.since, Reason: fmt.Sprintf("%d deliveries in a row were answered 410", h.gone)}
	}
	switch {
	case h.failures >= disableFailures && at.Sub(h.since) >= disableAfter:
		return Verdict{Kind: deliver.NoticeDisabled, Since: h.since,
			Reason: fmt.Sprintf("no success since %s in %d attempts", h.since.UTC().Format(time.RFC3339), h.failures)}
	case h.failures == failingFailures:
		return Verdict{Kind: deliver.NoticeFailing, Since: h.since, Reason: res.Error}
	}
	return Verdict{}
}

// Read takes over the failures in the endpoint's record, which other processes write, too,
// and earlier runs of this one. was is the record as it was read before.
func (h *Health) Read(was, is *deliver.Endpoint) {
	switch {
	case !is.FailingSince.IsZero() && (h.failures < failingFailures || is.FailingSince.Before(h.since)):
		h.failures, h.since = max(h.failures, failingFailures), is.FailingSince
	case is.FailingSince.IsZero() && !was.FailingSince.IsZero():
		*h = Health{} // it has recovered, or was enabled
	}
}

// Since is when the first attempt of those that failed in a row began, zero when the last
// one has not failed.
func (h *Health) Since() time.Time {
	if h.failures == 0 {
		return time.Time{}
	}
	return h.since
}
