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
	ruleTests    = []string{"./rule"}
	rootTests    = []string{"."}
)

var list = []breakage{
	// Detection.
	{"cursor moved before the commit", "detect/shard.go",
		"	t.state = committing\n", "	t.state = committing\n	t.since = toSeconds(out.begun)\n", detectTests},
	{"failed commit is not forgotten", "detect/shard.go",
		"	if err == nil {\n		sh.apply(f)\n	}\n", "	sh.apply(f)\n", detectTests},
	{"handed over before the commit", "detect/committer.go",
		"		err := c.try(ctx, group)\n", "		c.handOver(group)\n		err := c.try(ctx, group)\n", detectTests},
	{"seen set keyed wrongly", "detect/shard.go",
		"window.Renew(out.seen, f.newIDs)", "window.Renew(out.seen, []string{f.plan.query.Username})", detectTests},
	{"first page only: a bare high-water mark", "detect/poll.go",
		"old := !out.reach.IsZero() && before(out.reach, p.cutoff)", "old := !out.reach.IsZero()", detectTests},
	{"no overlap", "detect/target.go",
		"back = back.Add(-overlap)", "back = back.Add(-0)", detectTests},
	{"baseline is delivered", "detect/judge.go",
		"if before(tw.PublishedAt, want.since.Add(-max(0, out.skew))) {", "if false {", detectTests},
	{"joining monitor misses what is known", "detect/subscribe.go",
		"since), fresh: true}", "since)}", detectTests},
	{"failed page moves the cursor", "detect/shard.go",
		"f.plan.gap == nil && f.out.err == nil && (f.out.complete", "f.plan.gap == nil && (f.out.err != nil || f.out.complete", detectTests},
	{"empty page moves the cursor", "detect/poll.go",
		"out.complete = out.posts > 0 || !p.expected", "out.complete = true", detectTests},
	{"wrong author accepted", "detect/judge.go",
		"if sh.ownPost(f, tw) {", "if true || sh.ownPost(f, tw) {", detectTests},
	{"page cap leaves no gap", "detect/poll.go",
		"		out.complete, out.capped = out.shallow, !out.shallow\n", "		out.complete = true\n", detectTests},
	{"gap counts as read when it was not", "detect/gaps.go",
		"	case out.complete:\n", "	case out.err == nil:\n", detectTests},
	{"gap is not read on", "detect/gaps.go",
		"			sh.fills.Set(f.slot, sh.d.clock())\n", "", detectTests},
	{"gap is forgotten by a restart", "detect/subscribe.go",
		"			sh.fills.Set(slot, sh.d.clock()+int64(fillWait))\n", "", detectTests},
	{"version acknowledged before the commit", "detect/shard.go",
		"	sh.noteGaps(f)\n", "	sh.noteGaps(f)\n	sh.keepVersion(f)\n", detectTests},
	{"version of a page with a dropped post", "detect/shard.go",
		"	if !f.sound {\n", "	if false {\n", detectTests},
	{"unchanged page makes its posts forgotten", "detect/shard.go",
		"	if out.unchanged {\n", "	if false {\n", detectTests},
	// Queries.
	{"joining rule misses what is known", "detect/found.go",
		"if seen && !sub.fresh {", "if seen {", detectTests},
	{"rule gets posts from before it", "detect/found.go",
		"if before(tw.PublishedAt, sub.Since.Add(-max(0, out.skew))) {", "if false {", detectTests},
	{"what a query showed is forgotten", "detect/found.go",
		"	q.seen.Add(out.begun, f.shown...)\n", "", detectTests},
	{"page cap of a query leaves no gap", "detect/found.go",
		"	case out.capped:\n", "	case false:\n", detectTests},
	{"a first empty answer counts for what was read", "detect/queryset.go",
		"cold: !start.since.IsZero(), ", "", detectTests},
	{"a rule leaves a query and stays in it", "detect/queryset.go",
		"	if had != nil && had != mine {\n", "	if false {\n", detectTests},
	{"removed query is committed later", "detect/queryset.go",
		"		if f.committing {\n", "		if false {\n", detectTests},
	{"answers without order end at the first old post", "detect/search.go",
		"	if f.unordered {\n		old", "	if false {\n		old", detectTests},
	{"searches take the accounts' budget", "detect/schedule.go",
		"forAccounts(d.cfg.FetchRate, math.Float64frombits(d.count.queryRate.Load()))", "d.cfg.FetchRate", detectTests},
	{"restored rule begins anew", "rule/update.go",
		"else if old.StatusReason != ReasonCredits {", "else {", ruleTests},
	{"suspension overrules its owner", "rule/suspend.go",
		"		if r.Status != Active {\n", "		if r.StatusReason == reason {\n", ruleTests},
	{"rate limit does not close the budget", "detect/trouble.go",
		"d.budget.closeFor(wait)", "_ = wait", detectTests},
	{"polled more often than the interval", "detect/schedule.go",
		"sh.sched.Set(f.slot, sh.d.gridAfter(max(now, f.due), f.hash, sh.interval(f.slot)))", "sh.sched.Set(f.slot, now+int64(sh.interval(f.slot))/2)", detectTests},
	{"failing account is not rested under a budget", "detect/schedule.go",
		"		sh.pacer.Fail(slot, until)\n		return\n", "		sh.pacer.Fail(slot, 0)\n		return\n", detectTests},
	{"interval is no bound under a budget", "detect/schedule.go",
		"			a.Max = iv\n", "			_ = iv\n", detectTests},
	{"account of a failed call is never tried alone", "detect/shard.go",
		"t.set(alone, out.together || t.is(alone))", "t.set(alone, false)", detectTests},
	{"one account's pages hold up the others'", "detect/batch.go",
		"			more = append(more, f)\n", "			sh.d.readOn(ctx, f, pg.Next)\n			sh.mail.put(message{landed: f})\n", detectTests},
	{"removal does not wait for the commit", "detect/subscribe.go",
		"			r.open++\n			f.waiters = append(f.waiters, r)\n", "			_ = f\n", detectTests},
	{"restart revives history", "detect/subscribe.go",
		"		t.set(cold, true)\n", "", detectTests},
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
