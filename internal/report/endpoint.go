package report

import (
	"slices"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/internal/invalid"
)

const (
	// hours is for how many hours deliveries are counted, the present one included.
	hours = 24
	// maxEndpoints bounds the endpoints that are counted. Beyond it, further ones are not counted
	// until others had no delivery for a day.
	maxEndpoints = 20_000
	// maxText bounds the texts of a last error, in bytes.
	maxText = 512
)

// EndpointHealth has the figures of an endpoint. Since is the same for all.
type EndpointHealth struct {
	Waiting int64     // deliveries that are not final, exact
	Oldest  time.Time // when the oldest of these was created; zero for none
	// Delivered and Failed are final deliveries created at Since or later: 23 to 24 hours ago, or when
	// the first engine counted. One that was reopened counts by its last end. Of all deliveries created
	// since then, Delivered ÷ (Delivered + Failed + Waiting) have arrived, unless some wait for longer.
	Since             time.Time
	Delivered, Failed int64
	// LastError is the last failed attempt of a day; zero if none is known. Its texts are cut.
	LastError deliver.Attempt
}

// endpoint counts the deliveries of an endpoint.
type endpoint struct {
	Owner     string
	Hours     []hour // sorted
	LastError deliver.Attempt
}

// hour counts deliveries by the time of their creation.
type hour struct {
	From              time.Time
	Delivered, Failed int64
}

// oldest returns the beginning of the first hour that counts.
func oldest(now time.Time) time.Time {
	return now.UTC().Truncate(time.Hour).Add(-(hours - 1) * time.Hour)
}

// end counts a delivery that became final, unless it was created too long ago.
func (e *endpoint) end(d *deliver.Delivery, state deliver.State, now time.Time) {
	from := d.CreatedAt.UTC().Truncate(time.Hour)
	if from.Before(oldest(now)) {
		return
	}
	i, there := slices.BinarySearchFunc(e.Hours, from, func(h hour, from time.Time) int { return h.From.Compare(from) })
	if !there {
		e.Hours = slices.Insert(e.Hours, i, hour{From: from})
	}
	h := &e.Hours[i]
	if reopened := d.Uncounted > 0 && d.Waited == 0; reopened && h.Failed > 0 {
		h.Failed--
	}
	if state == deliver.StateDelivered {
		h.Delivered++
	} else {
		h.Failed++
	}
}

// failed keeps a failed attempt.
func (e *endpoint) failed(a deliver.Attempt) {
	a.Error, a.ResponsePreview = strings.Clone(invalid.Cut(a.Error, maxText)), strings.Clone(invalid.Cut(a.ResponsePreview, maxText))
	e.LastError = a
}

func (e *endpoint) copy() *endpoint {
	c := *e
	c.Hours = slices.Clone(e.Hours)
	return &c
}

// expire drops what is too old, and reports whether nothing is left.
func (e *endpoint) expire(now time.Time) bool {
	e.Hours = slices.DeleteFunc(e.Hours, func(h hour) bool { return h.From.Before(oldest(now)) })
	if e.LastError.At.Before(now.Add(-hours * time.Hour)) {
		e.LastError = deliver.Attempt{}
	}
	return len(e.Hours) == 0 && e.LastError.At.IsZero()
}

// add adds what other has counted.
func (e *endpoint) add(other *endpoint) {
	for _, more := range other.Hours {
		i, there := slices.BinarySearchFunc(e.Hours, more.From, func(h hour, from time.Time) int { return h.From.Compare(from) })
		if !there {
			e.Hours = slices.Insert(e.Hours, i, hour{From: more.From})
		}
		e.Hours[i].Delivered += more.Delivered
		e.Hours[i].Failed += more.Failed
	}
	if other.LastError.At.After(e.LastError.At) {
		e.LastError = other.LastError
	}
}

// Health adds up what the reports have of an endpoint. It does not know what waits.
func Health(reports []Report, id string, now time.Time) (h EndpointHealth) {
	var sum endpoint
	began := now
	for i := range reports {
		if b := reports[i].Began; b.Before(began) {
			began = b
		}
		if e := reports[i].Endpoints[id]; e != nil {
			sum.add(e)
		}
	}
	sum.expire(now)
	for _, of := range sum.Hours {
		h.Delivered += of.Delivered
		h.Failed += of.Failed
	}
	h.Since, h.LastError = oldest(now), sum.LastError
	if began.After(h.Since) {
		h.Since = began
	}
	return h
}
