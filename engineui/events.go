package engineui

import (
	"math"
	"net/http"
	"slices"
	"strconv"

	"github.com/streamwatch/streamwatch/deliver"
)

// eventsShown is the number of events on a page.
const eventsShown = 50

// eventsData is a page of an owner's events.
type eventsData struct {
	Events []deliver.Event // newest first
	Before string          // cursor of this page; "" for the newest events
	Next   string
}

// events loads the page of an owner's events.
func (c *Console) events(v *view) (any, error) {
	d := eventsData{Before: v.query.Get("cursor")}
	before := uint64(0)
	if d.Before == "" {
		last, err := v.lastSeq()
		if err != nil {
			return nil, err
		}
		before = last + 1
	} else {
		var err error
		if before, err = strconv.ParseUint(d.Before, 10, 63); err != nil || before == 0 {
			return nil, &failure{http.StatusBadRequest, "The cursor is not allowed: want that of a link."}
		}
	}
	var err error
	d.Events, err = v.eventsBefore(before, eventsShown)
	if n := len(d.Events); n > 0 && d.Events[n-1].Seq > 1 {
		d.Next = strconv.FormatUint(d.Events[n-1].Seq, 10)
	}
	return d, err
}

// newest returns up to most of the owner's newest events, newest first.
func (v *view) newest(most int) ([]deliver.Event, error) {
	last, err := v.lastSeq()
	if err != nil {
		return nil, err
	}
	return v.eventsBefore(last+1, most)
}

// eventsBefore returns the owner's events with the most numbers just below before, newest first. Events
// that are not stored any more are left out.
func (v *view) eventsBefore(before uint64, most int) ([]deliver.Event, error) {
	if before <= 1 {
		return nil, nil
	}
	from := before - 1 - min(before-1, uint64(most))
	list, err := v.c.engine.Log().Events(v.Context(), v.Owner, from, int(before-1-from))
	list = slices.DeleteFunc(list, func(e deliver.Event) bool { return e.Seq >= before })
	slices.Reverse(list)
	return list, err
}

// lastSeq returns the number of the owner's newest event, or 0 if none is stored. It searches with
// reads of one event, about 60 at most, because counting would cost the store more.
func (v *view) lastSeq() (uint64, error) {
	// after returns the number of the first event above n.
	after := func(n uint64) (uint64, error) {
		list, err := v.c.engine.Log().Events(v.Context(), v.Owner, n, 1)
		if err != nil || len(list) == 0 {
			return 0, err
		}
		return list[0].Seq, nil
	}
	low, err := after(0)
	if err != nil || low == 0 {
		return 0, err
	}
	// low is the number of an event. Once high is known, no event has a number above it.
	high := uint64(0)
	for step := uint64(64); high == 0; step *= 4 {
		if step > math.MaxInt64/8 {
			return low, nil
		}
		next, err := after(low + step)
		switch {
		case err != nil:
			return 0, err
		case next == 0:
			high = low + step
		default:
			low = next
		}
	}
	for low < high {
		middle := low + (high-low)/2
		next, err := after(middle)
		switch {
		case err != nil:
			return 0, err
		case next == 0:
			high = middle
		default:
			low = next
		}
	}
	return low, nil
}
