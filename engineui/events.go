package engineui

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/streamwatch/streamwatch/deliver"
)

// eventsData is a list of events.
type eventsData struct {
	*listData
	Events   []deliver.Event // newest first
	Searched int             // number of events read for a search
}

// events loads the list of an owner's events.
func (c *Console) events(v *view) (any, error) {
	list, err := newList(v)
	if err != nil {
		return nil, err
	}
	d := &eventsData{listData: list}
	if d.Owners, err = c.chosen(v); err != nil || len(d.Owners) > 0 {
		return d, err
	}
	before := uint64(0)
	if d.Cursor == "" {
		last, err := v.lastSeq()
		if err != nil {
			return nil, err
		}
		before = last + 1
	} else if before, err = strconv.ParseUint(d.Cursor, 10, 63); err != nil || before == 0 {
		return nil, errCursor
	}
	size := rowsShown
	if d.Find != "" {
		size = searched
	}
	page, err := v.eventsBefore(before, size)
	if err != nil {
		return nil, err
	}
	if n := len(page); n > 0 && page[n-1].Seq > 1 {
		d.Next = strconv.FormatUint(page[n-1].Seq, 10)
	}
	d.Searched = len(page)
	find := strings.ToLower(d.Find)
	d.Events = slices.DeleteFunc(page, func(e deliver.Event) bool { return !matches(&e, find) })
	return d, nil
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
