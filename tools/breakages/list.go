package main

// breakage is one place to break.
type breakage struct {
	name  string
	file  string
	old   string // stands in file exactly once
	new   string
	tests []string // packages one of whose tests must turn red
}

var (
	detectTests  = []string{"./detect"}
	deliverTests = []string{"./deliver"}
	latencyTests = []string{"./latency"}
	memoryTests  = []string{"./storage/memory"}
	monitorTests = []string{"./monitor"}
	rootTests    = []string{"."}
)

var list = []breakage{
	// Detection.
	{"cursor moved before the commit", "detect/shard.go",
		"	sh.pending[slot] = p\n", "	sh.pending[slot] = p\n	t.since = out.begun\n", detectTests},
	{"failed commit is not forgotten", "detect/shard.go",
		"	if err != nil {\n		// The store's", "	sh.apply(t, p)\n	if err != nil {\n		// The store's", detectTests},
	{"handed over before the commit", "detect/committer.go",
		"		err := c.try(ctx, group)\n", "		c.handOver(group)\n		err := c.try(ctx, group)\n", detectTests},
	{"seen set keyed wrongly", "detect/shard.go",
		"t.window.Renew(p.out.seen, p.newIDs)", "t.window.Renew(p.out.seen, []string{t.username})", detectTests},
	{"first page only: a bare high-water mark", "detect/poll.go",
		"old := !out.reach.IsZero() && before(out.reach, p.cutoff)", "old := !out.reach.IsZero()", detectTests},
	{"no overlap", "detect/target.go",
		"back = back.Add(-overlap)", "back = back.Add(-0)", detectTests},
	{"baseline is delivered", "detect/judge.go",
		"if before(tw.PublishedAt, sub.since.Add(-out.skew)) {", "if false {", detectTests},
	{"joining monitor misses what is known", "detect/subscribe.go",
		"match: s.sub.Match, fresh: true})", "match: s.sub.Match})", detectTests},
	{"failed page moves the cursor", "detect/shard.go",
		"if p.out.err != nil || !(p.out.complete || p.gap != nil) {\n		return nil", "if !(true || p.gap != nil) {\n		return nil", detectTests},
	{"empty page moves the cursor", "detect/poll.go",
		"out.complete = out.posts > 0 || !p.expected", "out.complete = true", detectTests},
	{"wrong author accepted", "detect/judge.go",
		"case !ownPost(t, out, tw):", "case false && !ownPost(t, out, tw):", detectTests},
	{"page cap leaves no gap", "detect/poll.go",
		"			out.capped = !out.complete\n", "			out.complete = true\n", detectTests},
	{"rate limit does not close the budget", "detect/shard.go",
		"sh.d.budget.closeUntil(time.Now().Add(wait))", "_ = wait", detectTests},
	{"polled more often than the interval", "detect/shard.go",
		"sh.sched.Set(slot, sh.d.gridAfter(now, t.hash, t.interval))", "sh.sched.Set(slot, now+int64(t.interval)/2)", detectTests},
	{"removal does not wait for the commit", "detect/subscribe.go",
		"		r.open++\n		t.waiters = append(t.waiters, r)\n", "		_ = t\n", detectTests},
	{"restart revives history", "detect/subscribe.go",
		"		t.cold = true\n", "", detectTests},
	{"Fetcher's panic kills the process", "detect/poll.go",
		"if v := recover(); v != nil {", "if v := any(nil); v != nil {", detectTests},

	// Delivery.
	{"retry changes the bytes", "deliver/attempt.go",
		"	dv.Endpoint = ep\n", "	dv.Endpoint = ep\n	ev := *dv.Event\n	ev.Body = append(append([]byte{}, ev.Body...), make([]byte, it.Attempts)...)\n	dv.Event = &ev\n", deliverTests},
	{"one retry too few", "deliver/attempt.go",
		"it.Attempts >= len(d.cfg.RetrySchedule)", "it.Attempts >= len(d.cfg.RetrySchedule)-1", deliverTests},
	{"lane without a cap", "deliver/lane.go",
		"len(l.queue) > 0 && l.inFlight < l.limit", "len(l.queue) > 0", deliverTests},
	{"full lane drops", "deliver/dispatcher.go",
		"		d.reader.spill(d, dv)\n", "", deliverTests},
	{"dropped endpoint goes on", "deliver/dispatcher.go",
		"	l.queue = nil\n	delete(d.lanes, endpointID)\n", "	delete(d.lanes, endpointID)\n", deliverTests},
	{"cut attempt counts as a failure", "deliver/attempt.go",
		"if ctx.Err() != nil && !res.OK {", "if false {", deliverTests},
	{"signature over other bytes", "deliver/webhook.go",
		"Sign(d.Endpoint.Secret, d.Event.Body)", "Sign(d.Endpoint.Secret, append([]byte{32}, d.Event.Body...))", deliverTests},
	{"address guard lets all through", "deliver/guard.go",
		"	return checkAddr(ap.Addr(), g.AllowPrivate)\n", "	return nil\n", deliverTests},
	{"no deadline", "deliver/attempt.go",
		"context.WithTimeout(ctx, d.cfg.Timeout)", "context.WithCancel(ctx)", deliverTests},
	{"retry counts as a handover", "deliver/stats.go",
		"	if a.N == 1 {", "	if a.N > 0 {", deliverTests},
	{"quantile below the true one", "latency/snapshot.go",
		"return min(upperBound(i), s.r.max)", "return min(upperBound(max(0, i-1)), s.r.max)", latencyTests},

	// The store, the manager and the whole.
	{"claim ignores the lease", "storage/memory/outbox.go",
		"d.due = r.Now.Add(r.Lease)", "d.due = r.Now", memoryTests},
	{"known event is stored again", "storage/memory/journal.go",
		"if s.events[k] != nil || s.removed.has(k) {", "if s.removed.has(k) {", memoryTests},
	{"bad batch is committed half", "storage/memory/journal.go",
		"	if b.Cursor != nil && b.Cursor.Target == \"\" {", "	if false {", memoryTests},
	{"trouble is never shown", "monitor/troubles.go",
		"out[id] = struct{ owner, reason string }{owner, reason(t.failing[id])}", "out[id] = struct{ owner, reason string }{owner, \"\"}", monitorTests},
	{"resumed monitor gets the past", "monitor/manager.go",
		"				mon.Accounts[i].Since = now", "				mon.Accounts[i].Since = old.CreatedAt", monitorTests},
	{"engine forgets its monitors", "engine.go",
		"		if m.Status != monitor.Active {", "		if m.Status == monitor.Active {", rootTests},
}
