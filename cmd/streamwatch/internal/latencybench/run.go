package latencybench

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/cmd/streamwatch/internal/latencybench/poster"
	"github.com/streamwatch/streamwatch/cmd/streamwatch/internal/latencybench/receipt"
)

// runner posts what is due and keeps the record of it.
type runner struct {
	book   *book
	poster poster.Poster
	due    []due
	wait   time.Duration // after the last post
	// failed is called for each post that was not published, by several goroutines at once.
	failed func(error)
	// stopped, which may be nil, is called when ctx ends after the first post and before the last.
	stopped func()
}

// run publishes each post when it is due, whatever has arrived of earlier ones, and then
// waits for the rest to arrive. When ctx ends, it posts no more, but still waits for what it
// has posted. base is when the schedule began.
func (r *runner) run(ctx context.Context) (base time.Duration, made []receipt.Post) {
	limits, accounts := r.poster.Limits(), r.poster.Accounts()
	posts := make([]receipt.Post, 0, len(r.due))
	for i, d := range r.due {
		posts = append(posts, receipt.Post{Seq: i + 1, Account: accounts[d.account], Marker: newMarker(), Due: d.at})
	}
	var underWay sync.WaitGroup
	slots := make(chan struct{}, limits.InFlight)
	base = r.book.since()
	soft := context.WithoutCancel(ctx)
	n := 0
	for i := range posts {
		p, account := &posts[i], r.due[i].account
		p.Due += base
		if !pause(ctx, p.Due-r.book.since()) {
			break
		}
		n++
		if limits.InFlight == 1 {
			r.post(soft, p, account)
			continue
		}
		slots <- struct{}{} // a post that waits here is sent late, which the report shows as its lag
		underWay.Go(func() {
			defer func() { <-slots }()
			r.post(soft, p, account)
		})
	}
	if n == 0 {
		return base, nil
	}
	if n < len(posts) && r.stopped != nil {
		r.stopped()
	}
	underWay.Wait()
	pause(soft, r.wait)
	return base, posts[:n]
}

// post publishes a post and notes when.
func (r *runner) post(ctx context.Context, p *receipt.Post, account int) {
	text := fmt.Sprintf("%s streamwatch latency benchmark post %d", p.Marker, p.Seq)
	p.Sent = r.book.since()
	posted, err := r.poster.Post(ctx, account, text)
	p.Acked = r.book.since()
	if err != nil {
		p.Error = err.Error()
		r.failed(err)
		return
	}
	p.ID, p.PlatformTime = posted.ID, posted.At
}

// remove deletes the posts. left is how many it could not delete, last the last error.
func (r *runner) remove(posts []receipt.Post, timeout time.Duration) (left int, last error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	for i := range posts {
		if posts[i].Error != "" {
			continue
		}
		err := r.poster.Delete(ctx, posts[i].ID)
		if err != nil {
			left, last = left+1, err
		}
		pause(ctx, r.poster.Limits().Gap)
	}
	return left, last
}

// pause waits, and reports whether ctx lasted as long.
func pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// byArrival sorts arrivals: they may have been noted in another order than they were read.
func byArrival(list []receipt.Arrival) []receipt.Arrival {
	slices.SortStableFunc(list, func(a, b receipt.Arrival) int { return cmp.Compare(a.At, b.At) })
	return list
}
