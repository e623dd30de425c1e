package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/benchmarks/report"
	"github.com/streamwatch/streamwatch/deliver"
)

// outcome is what a contestant showed in one round.
type outcome struct {
	cpu   float64 // µs a poll
	polls float64 // a second
	result
}

// Bounds of the waits.
const (
	warmLimit  = 2 * time.Minute // for the first poll of each account
	settle     = 200 * time.Millisecond
	look       = 20 * time.Millisecond // between two looks at the state
	downtime   = 500 * time.Millisecond
	drainExtra = 5 * time.Second
	claimEnds  = 55 * time.Second // longer than a delivery under way is claimed by a process that was killed
)

// compare runs all contestants in turns, case by case.
func compare(o options) (rows []report.Row, err error) {
	for _, t := range o.trials() {
		outcomes := make([][]outcome, len(o.impls))
		for round := range o.Rounds {
			for k := range o.impls {
				i := (k + round) % len(o.impls)
				if o.impls[i] == alone && t.lossOnly() {
					continue // it detects nothing
				}
				got, err := o.round(t, o.impls[i])
				if err != nil {
					return nil, fmt.Errorf("wholejob: %s: %s: %w", t.name, o.impls[i], err)
				}
				outcomes[i] = append(outcomes[i], got)
			}
		}
		for i, name := range o.impls {
			rows = append(rows, t.rows(name, outcomes[i])...)
		}
	}
	return rows, nil
}

// lossOnly are the cases that count losses and not costs.
func (t trial) lossOnly() bool { return t.kind == killed || t.kind == bursts }

// round runs one contestant once.
func (o options) round(t trial, name string) (out outcome, err error) {
	dir, err := os.MkdirTemp("", "streamwatch-wholejob-")
	if err != nil {
		return out, err
	}
	defer os.RemoveAll(dir)
	secret := string(deliver.GenerateSecret())
	var hello platformHello
	server, err := start(order{Platform: &platformOrder{Accounts: t.accounts, Rate: posts, Burst: t.burst, Secret: secret}}, &hello)
	if err != nil {
		return out, err
	}
	defer server.kill()
	ca := filepath.Join(dir, "ca.pem")
	if err := os.WriteFile(ca, []byte(hello.CA), 0o600); err != nil {
		return out, err
	}
	job := contestantOrder{Name: name, Dir: dir, URL: hello.URL, Hook: hello.Hook, Secret: secret, Accounts: t.accounts, Interval: t.interval}
	if o.profile != "" {
		job.Profile = o.profile + "-" + strings.NewReplacer(" ", "_", "/", "_", ",", "").Replace(t.name+"-"+name)
	}
	begin := func() (*process, error) {
		return start(order{Contestant: &job}, new(string), "SSL_CERT_FILE="+ca)
	}
	c, err := begin()
	if err != nil {
		return out, err
	}
	defer func() { c.kill() }()
	if _, err := wait(server, warmLimit, func(s state) bool { return s.Warm == t.accounts }); err != nil {
		return out, err
	}
	time.Sleep(settle)

	var before, after state
	var used time.Duration
	if err := errors.Join(server.ask("post", &before), c.ask("begin", &used), server.ask("state", &before)); err != nil {
		return out, err
	}
	began := time.Now()
	if t.kind == killed {
		time.Sleep(o.For / 2)
		c.kill()
		time.Sleep(downtime)
		if c, err = begin(); err != nil {
			return out, err
		}
		time.Sleep(o.For / 2)
	} else {
		time.Sleep(o.For)
	}
	if _, err := wait(server, warmLimit, func(s state) bool { return s.Polls > before.Polls }); err != nil {
		return out, err // a machine that stood still
	}
	if err := errors.Join(c.ask("end", &used), server.ask("state", &after)); err != nil {
		return out, err
	}
	took, polls := time.Since(began), float64(after.Polls-before.Polls)
	if polls > 0 {
		out.cpu, out.polls = float64(used)/float64(time.Microsecond)/polls, polls/took.Seconds()
	}
	if err := server.ask("hush", &after); err != nil {
		return out, err
	}
	if name != alone {
		if err := t.drain(server, after, called(name).keeps); err != nil {
			return out, err
		}
	}
	if err := server.ask("result", &out.result); err != nil {
		return out, err
	}
	if out.Wrong > 0 {
		return out, fmt.Errorf("the receiver got %d requests that are wrong", out.Wrong)
	}
	return out, c.stop()
}

// drain waits until all posts were sent, or cannot come any more: every account was
// polled twice since the last one was shown, as the state of then says, and some time
// has passed.
func (t trial) drain(server *process, then state, keeps bool) error {
	sent := func(s state) bool { return s.Open == 0 }
	if _, err := wait(server, warmLimit, func(s state) bool { return sent(s) || s.Polls >= then.Polls+2*int64(t.accounts) }); err != nil {
		return err
	}
	limit := drainExtra
	if t.kind == killed && keeps {
		limit += claimEnds
	}
	if _, err := wait(server, limit, sent); err != nil && !errors.Is(err, errLate) {
		return err
	}
	return nil
}

// errLate is that a state did not come in time.
var errLate = errors.New("too late")

// wait asks the platform until its state is as wanted.
func wait(server *process, limit time.Duration, done func(state) bool) (s state, err error) {
	for until := time.Now().Add(limit); ; time.Sleep(look) {
		if err := server.ask("state", &s); err != nil || done(s) {
			return s, err
		}
		if time.Now().After(until) {
			return s, fmt.Errorf("%w: after %s it is %+v", errLate, limit, s)
		}
	}
}

// rows are medians over the rounds; what was posted, lost and doubled is a sum, and
// latencies are of all posts.
func (t trial) rows(name string, rounds []outcome) (rows []report.Row) {
	if len(rounds) == 0 {
		return nil
	}
	add := func(metric string, v float64, unit string) {
		rows = append(rows, report.Row{Bench: "wholejob", Case: t.name, Impl: name, Metric: metric, Value: v, Unit: unit})
	}
	middle := func(of func(outcome) float64) float64 {
		var list []float64
		for _, r := range rounds {
			list = append(list, of(r))
		}
		return report.Quantile(list, 0.5)
	}
	if !t.lossOnly() {
		cpu := middle(func(r outcome) float64 { return r.cpu })
		add("CPU", cpu, "µs/poll")
		add("polls", middle(func(r outcome) float64 { return r.polls }), "/s")
		add("polls, core", 1e6/cpu, "/s")
		add("posts read, core", pagePosts*1e6/cpu, "/s")
	}
	if name == alone {
		return rows
	}
	var all result
	for _, r := range rounds {
		all.Posts += r.Posts
		all.Lost += r.Lost
		all.Doubled += r.Doubled
		all.Shown = append(all.Shown, r.Shown...)
		all.Read = append(all.Read, r.Read...)
	}
	if len(all.Shown) > 0 { // none was sent in a run that only shows that it works
		add("shown to 2xx p50", report.Quantile(all.Shown, 0.5), "ms")
		add("p99", report.Quantile(all.Shown, 0.99), "ms")
		add("read to 2xx p50", report.Quantile(all.Read, 0.5), "ms")
		add("read p99", report.Quantile(all.Read, 0.99), "ms")
	}
	add("posts", float64(all.Posts), "")
	add("lost", float64(all.Lost), "")
	add("doubled", float64(all.Doubled), "")
	return rows
}
