package dispatch

import (
	"fmt"
	"net/http"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
)

// maxWaited is how long a receiver may ask for waits before they count as failures.
const maxWaited = time.Hour

const (
	failingFailures = 10             // an endpoint is failing after so many failures in a row
	disableFailures = 20             // it is disabled after so many failures in a row,
	disableAfter    = 24 * time.Hour // over at least this time,
	disableGone     = 3              // or after so many answers 410 in a row
)

// health counts the failures in a row of an endpoint. A success sets the counts to 0. So an
// endpoint that sometimes accepts a delivery stays active, unless it answers disableGone
// deliveries in a row with 410.
type health struct {
	failures int       // failed attempts in a row
	since    time.Time // when the first of these began
	gone     int       // deliveries in a row answered 410
	asked    time.Time // when the first attempt since the last success began that was answered with a wait
}

// verdict is a change of the endpoint's record because of its attempts.
type verdict struct {
	Kind   deliver.NoticeKind // "" for nothing
	Reason string
	Since  time.Time
	Paused bool // disable it because its pause was too long
	gone   bool // disable it because of 410, even if the record has no FailingSince

	url                    string    // of the receiver that was judged
	statusSince, enabledAt time.Time // in the record then
}

// of returns v with the receiver in e. If the record has another receiver or was enabled again
// before v is written, v does not apply.
func (v verdict) of(e *deliver.Endpoint) verdict {
	v.url, v.statusSince, v.enabledAt = e.URL, e.StatusSince, e.EnabledAt
	return v
}

// sameReceiver reports whether two verdicts are of the same receiver.
func (v *verdict) sameReceiver(as verdict) bool {
	return v.url == as.url && v.statusSince.Equal(as.statusSince) && v.enabledAt.Equal(as.enabledAt)
}

// record counts an attempt that began at the given time, and returns the resulting verdict. An
// attempt answered with a wait is no failure until maxWaited after the first such attempt since
// the last success. Without this bound a receiver that never accepts a delivery would stay active.
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

// read updates h from the FailingSince of a record that was just read: other processes and earlier
// runs write it, too. If it has ended, the lane was reset: see mustReset.
func (h *health) read(is *deliver.Endpoint) {
	if !is.FailingSince.IsZero() && (h.failures < failingFailures || is.FailingSince.Before(h.since)) {
		h.failures, h.since = max(h.failures, failingFailures), is.FailingSince
	}
}

// failingSince returns when the first failed attempt since the last success began, or zero.
func (h *health) failingSince() time.Time {
	if h.failures == 0 {
		return time.Time{}
	}
	return h.since
}
