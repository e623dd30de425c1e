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
	find := strings.ToLower(d.Find)
	for {
		page, err := v.eventsBefore(before, rowsShown)
		if err != nil {
			return nil, err
		}
		if d.Next = ""; len(page) > 0 && page[len(page)-1].Seq > 1 {
			before = page[len(page)-1].Seq
			d.Next = strconv.FormatUint(before, 10)
		}
		d.Searched += len(page)
		d.Events = append(d.Events, slices.DeleteFunc(page, func(e deliver.Event) bool { return !matches(&e, find) })...)
		if d.Next == "" || len(d.Events) >= rowsShown || d.Searched >= searched {
			return d, nil
		}
	}
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
// reads of one event, about 40 at most, because counting would cost the store more.
func (v *view) lastSeq() (uint64, error) {
	low, high := uint64(0), uint64(math.MaxInt64) // no event has a number above high
	for step := uint64(1024); low < high; {
		n := low + min(step, (high-low)/2)
		list, err := v.c.engine.Log().Events(v.Context(), v.Owner, n, 1)
		if err != nil {
			return 0, err
		}
		if len(list) > 0 {
			low, step = list[0].Seq, min(8*step, math.MaxInt64/16)
		} else if high = n; low > 0 || n < 1024 {
			step = math.MaxInt64
		}
	}
	return low, nil
}
