package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/benchmarks/report"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/fetcher"
)

// judge compares what the platform showed with what the handler got. Posts from before
// a time do not count for the latency.
func (h *handled) judge(o *outcome, truth []enginetest.Truth, from time.Time, delay time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var took []time.Duration
	for _, post := range truth {
		at := h.at[post.ID]
		o.posts++
		switch {
		case len(at) == 0:
			o.lost++
			continue
		case len(at) > 1:
			o.doubled++
		}
		if !post.VisibleAt.Before(from) {
			took = append(took, at[0].Sub(post.VisibleAt)-delay)
		}
	}
	if len(took) > 0 {
		slices.Sort(took)
		o.p50, o.p99 = took[len(took)/2], took[len(took)*99/100]
	}
}

func (o *outcome) rows(kase, impl string) (rows []report.Row) {
	row := func(metric string, v float64, unit string) {
		rows = append(rows, report.Row{Bench: "push", Case: kase, Impl: impl, Metric: metric, Value: v, Unit: unit})
	}
	row("p50", float64(o.p50.Microseconds())/1000, "ms")
	row("p99", float64(o.p99.Microseconds())/1000, "ms")
	row("lost", float64(o.lost), "posts")
	row("doubled", float64(o.doubled), "posts")
	row("posts", float64(o.posts), "posts")
	if o.calls > 0 {
		row("calls", o.perAccountHour, "1/account/h")
	}
	if impl == report.Ours {
		row("disconnects", float64(o.disconnects), "1")
	}
	return rows
}

// inRealTime has the platform post for some time, and times posts from there to the
// handler.
func inRealTime(ctx context.Context, lasts time.Duration) (o outcome, err error) {
	const accounts, every = 100, 2 * time.Millisecond
	names := enginetest.AccountNames(accounts)
	p := enginetest.NewPlatform(enginetest.PlatformConfig{Seed: 1, Accounts: names})
	got := &handled{at: map[string][]time.Time{}}
	e, err := begin(ctx, streamwatch.Config{Fetcher: p, OnEvent: got.handle,
		Roles: fetcher.Roles{Stream: p.Streamer(enginetest.StreamConfig{})}, Detect: detect.Config{AuditEvery: auditEvery}})
	if err != nil {
		return o, err
	}
	if err := watch(ctx, e, names, interval); err != nil {
		return o, errors.Join(err, cut(ctx, e))
	}
	for until := time.Now().Add(10 * time.Second); e.Stats().Detect.Stream.Accounts < accounts; {
		if time.Now().After(until) {
			return o, errors.Join(fmt.Errorf("the stream is not up: %+v", e.Stats().Detect.Stream), cut(ctx, e))
		}
		<-time.After(every)
	}
	began := time.Now()
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	posts := 0
	for ; posts == 0 || time.Since(began) < lasts; posts++ {
		<-ticker.C
		p.Post(names[posts%accounts], "a post")
	}
	for until := time.Now().Add(10 * time.Second); got.posts() < posts && time.Now().Before(until); {
		<-time.After(every)
	}
	if err := e.Shutdown(ctx); err != nil {
		return o, err
	}
	got.judge(&o, p.Posted(), began, 0)
	return o, nil
}

func (h *handled) posts() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.at)
}
