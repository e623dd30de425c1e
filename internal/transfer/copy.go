package transfer

import (
	"context"
	"fmt"
)

// page is what the source reads while the target writes the page before.
type page struct {
	part Part
	rows []any
	next Place
	err  error
}

// Copy copies what the target does not have yet, compares both stores, and finishes the target if they
// are equal. It calls watch after each page, with the rows of it.
func Copy(ctx context.Context, to, from Store, watch func(part Part, rows int)) ([]Line, error) {
	at, err := to.Begin(ctx, from.Where())
	if err != nil {
		return nil, fmt.Errorf("target %s: %w", to.Where(), err)
	}
	reading, stop := context.WithCancel(ctx)
	pages := make(chan page, 1)
	go read(reading, from, at, pages)
	for p := range pages {
		if err == nil {
			err = p.err
		}
		if err == nil {
			if err = to.Write(ctx, p.part, p.rows, p.next); err == nil {
				watch(p.part, len(p.rows))
			}
		}
		if err != nil {
			stop() // and wait until the source is no longer read
		}
	}
	stop()
	if err != nil {
		return nil, fmt.Errorf("the copy is not complete, run it again: %w", err)
	}
	lines, err := Check(ctx, to, from, watch)
	if err != nil {
		return lines, err
	}
	return lines, to.Finish(ctx)
}

// read sends the pages of a store from a place on, and closes the channel.
func read(ctx context.Context, from Store, at Place, pages chan<- page) {
	defer close(pages)
	for at.Part < parts {
		rows, next, last, err := from.Read(ctx, at)
		p := page{part: at.Part, rows: rows, next: Place{at.Part, next}, err: err}
		if last {
			p.next = Place{Part: at.Part + 1}
		}
		select {
		case pages <- p:
		case <-ctx.Done():
			return
		}
		if err != nil {
			return
		}
		at = p.next
	}
}
