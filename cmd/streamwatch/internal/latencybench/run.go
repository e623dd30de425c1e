package latencybench

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// runner posts what is due and keeps the record of it.
type runner struct {
	book   *book
	poster poster
	due    []due
	wait   time.Duration // after the last post
	// failed is called concurrently for each post that was not published.
	failed func(error)
	// stopped, unless nil, is called when ctx ends after the first post and before the last.
	stopped func()
}

// run publishes each post when it is due, even if earlier posts have not arrived. Then it waits for the
// arrivals. When ctx ends, it publishes no more posts, but still waits for the arrivals. base is when
// the schedule began.
func (r *runner) run(ctx context.Context) (base time.Duration, made []post) {
	limits, accounts := r.poster.Limits(), r.poster.Accounts()
	posts := make([]post, 0, len(r.due))
	for i, d := range r.due {
		posts = append(posts, post{seq: i + 1, account: accounts[d.account], marker: newMarker(), due: d.at})
	}
	var underWay sync.WaitGroup
	slots := make(chan struct{}, limits.inFlight)
	base = r.book.since()
	soft := context.WithoutCancel(ctx)
	n := 0
	for i := range posts {
		p, account := &posts[i], r.due[i].account
		p.due += base
		if !pause(ctx, p.due-r.book.since()) {
			break
		}
		n++
		if limits.inFlight == 1 {
			r.post(soft, p, account)
			continue
		}
		slots <- struct{}{} // the report shows a wait here as the post's lag
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
func (r *runner) post(ctx context.Context, p *post, account int) {
	text := fmt.Sprintf("%s streamwatch latency benchmark post %d", p.marker, p.seq)
	p.sent = r.book.since()
	err := r.poster.Post(ctx, account, text)
	p.acked = r.book.since()
	if err != nil {
		p.failed = true
		r.failed(err)
	}
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
