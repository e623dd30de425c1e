package dispatch

import (
	"fmt"
	"github.com/streamwatch/streamwatch/deliver"
	"net/http"
	"time"
)

const (
	failingFailures = 10             // in a row: the endpoint is failing
	disableFailures = 20             // in a row, at least, and for
	disableAfter    = 24 * time.Hour // it is disabled
	disableGone     = 3              // deliveries in a row answered 410
)

// health counts failures of an endpoint. One success ends a row of
// failures, so that an endpoint that works now and then is never disabled.
type health struct {
	failures int       // attempts in a row
	since    time.Time // when the first of them began
	gone     int       // deliveries in a row answered 410
	asked    time.Time // when the first attempt began that was answered with a wait
}

// verdict is a change of the endpoint's record that attempts call for.
type verdict struct {
	kind   deliver.NoticeKind // "" for nothing
	reason string
	since  time.Time
	gone   bool // disabled for 410, whatever came before
	paused bool // disabled for a pause that was too long
}

// record takes an attempt that began at the time. One that was answered with a
// wait is no failure, unless nothing has succeeded for maxWaited since the first
// such answer: else a receiver that never takes anything would stay active.
func (h *health) record(at time.Time, res *deliver.Result, waits bool) verdict {
	if res.OK {
		was := *h
		*h = health{}
		if was.failures >= failingFailures {
			return verdict{kind: deliver.NoticeRecovered, since: was.since}
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
		return verdict{kind: deliver.NoticeDisabled, gone: true, since: h.since, reason: fmt.Sprintf("%d deliveries in a row were answered 410", h.gone)}
	}
	switch {
	case h.failures >= disableFailures && at.Sub(h.since) >= disableAfter:
		return verdict{kind: deliver.NoticeDisabled, since: h.since,
			reason: fmt.Sprintf("no success since %s in %d attempts", h.since.UTC().Format(time.RFC3339), h.failures)}
	case h.failures == failingFailures:
		return verdict{kind: deliver.NoticeFailing, since: h.since, reason: res.Error}
	}
	return verdict{}
}

// read takes over the failures in the endpoint's record, which other processes write, too,
// and earlier runs of this one. was is the record as it was read before.
func (h *health) read(was, is *deliver.Endpoint) {
	switch {
	case !is.FailingSince.IsZero() && (h.failures < failingFailures || is.FailingSince.Before(h.since)):
		h.failures, h.since = max(h.failures, failingFailures), is.FailingSince
	case is.FailingSince.IsZero() && !was.FailingSince.IsZero():
		*h = health{} // it has recovered, or was enabled
	}
}
