package dispatch

import (
	"fmt"
	"net/http"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
)

// maxWaited is how long a receiver may ask for waits without being failing.
const maxWaited = time.Hour

const (
	failingFailures = 10             // failures in a row after which an endpoint is failing
	disableFailures = 20             // failures in a row after which it is disabled, if they
	disableAfter    = 24 * time.Hour // have lasted so long
	disableGone     = 3              // deliveries in a row answered 410 after which it is disabled
)

// health counts failures of an endpoint. A success ends a row of failures: an endpoint that
// sometimes accepts a delivery stays active, unless it answers disableGone in a row with 410.
type health struct {
	failures int       // failed attempts in a row
	since    time.Time // when the first of these began
	gone     int       // deliveries in a row answered 410
	asked    time.Time // when the first attempt began that was answered with a wait
}

// verdict is a change of the endpoint's record because of its attempts.
type verdict struct {
	Kind   deliver.NoticeKind // "" for nothing
	Reason string
	Since  time.Time
	Paused bool // disabled because its pause was too long
	gone   bool // disabled because of 410, also without a FailingSince

	url                    string    // of the receiver that was judged
	statusSince, enabledAt time.Time // in the record then
}

// of returns v as a verdict of the receiver in e: a record that has another, or was enabled
// again, by the time v is written stays as it is.
func (v verdict) of(e *deliver.Endpoint) verdict {
	v.url, v.statusSince, v.enabledAt = e.URL, e.StatusSince, e.EnabledAt
	return v
}

// sameReceiver reports whether two verdicts are of the same receiver.
func (v *verdict) sameReceiver(as verdict) bool {
	return v.url == as.url && v.statusSince.Equal(as.statusSince) && v.enabledAt.Equal(as.enabledAt)
}

// record counts an attempt that began at the given time. An attempt that was answered with
// a wait is no failure, unless no attempt has succeeded for maxWaited since the first such
// answer: else a receiver that never accepts a delivery would stay active.
func (h *health) record(at time.Time, res *deliver.Result, waits bool) verdict {
	if res.OK {
		was := *h
		*h = health{}
		if was.failures >= failingFailures {
			return verdict{Kind: deliver.NoticeRecovered, Since: was.since}
		}
		return verdict{}
	}
	if waits {
		if h.asked.IsZero() {
			h.asked = at
		}
		if at.Sub(h.asked) < maxWaited {
			return verdict{}
		}
	}
	if h.failures++; h.failures == 1 {
		h.since = at
	}
	if res.StatusCode != http.StatusGone {
		h.gone = 0
	} else if h.gone++; h.gone >= disableGone {
		return verdict{Kind: deliver.NoticeDisabled, gone: true, Since: h.since, Reason: fmt.Sprintf("%d deliveries in a row were answered 410", h.gone)}
	}
	switch {
	case h.failures >= disableFailures && at.Sub(h.since) >= disableAfter:
		return verdict{Kind: deliver.NoticeDisabled, Since: h.since,
			Reason: fmt.Sprintf("no success since %s in %d attempts", h.since.UTC().Format(time.RFC3339), h.failures)}
	case h.failures == failingFailures:
		return verdict{Kind: deliver.NoticeFailing, Since: h.since, Reason: res.Error}
	}
	return verdict{}
}

// read takes over the failures in the endpoint's record, which other processes and earlier
// runs write, too. was is the record of the previous read.
func (h *health) read(was, is *deliver.Endpoint) {
	switch {
	case !is.FailingSince.IsZero() && (h.failures < failingFailures || is.FailingSince.Before(h.since)):
		h.failures, h.since = max(h.failures, failingFailures), is.FailingSince
	case is.FailingSince.IsZero() && !was.FailingSince.IsZero():
		*h = health{} // it has recovered, or was enabled
	}
}

// failingSince returns when the first failed attempt since the last success began, zero without
// one.
func (h *health) failingSince() time.Time {
	if h.failures == 0 {
		return time.Time{}
	}
	return h.since
}
