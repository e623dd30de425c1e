package main

// breakage is one change that breaks a promise.
type breakage struct {
	promise string // what does not hold any more
	dir     string // the package, below the repository's root
	fn      string // its function: "Func", "Type.Method" or "(*Type).Method"
	edit    edit
	tests   []string // packages one of whose tests must turn red
}

var (
	detectTests   = []string{"./detect"}
	dispatchTests = []string{"./deliver/dispatch", "./deliver/endpoints"}
	webhookTests  = []string{"./deliver/webhook", "./deliver/endpoints"}
	wshubTests    = []string{"./deliver/wshub"}
	billingTests  = []string{"./billing"}
	apikeyTests   = []string{"./apikey"}
	httpTests     = []string{"./enginehttp"}
	rootTests     = []string{"."}
	memoryTests   = []string{"./storage/memory"}
	sqliteTests   = []string{"./storage/sqlite"}
	xapiTests     = []string{"./fetcher/xapi"}
	redisTests    = []string{"./storage/redisstore"}
	nodeTests     = []string{"./internal/node"}
	blueskyTests  = []string{"./fetcher/bluesky"}
)

// list has a few rows for each promise, those whose breaking is the likeliest and
// the hardest to see.
var list = []breakage{
	// Nothing new is missed.
	{"no high-water mark decides: a poll reads on to the overlap", "detect/internal/poll", "(*Env).take", swap("before(reach, pl.Cutoff)", "true"), detectTests},
	{"an answer that says it has all back to the bound is complete, also an empty one", "detect/internal/poll", "(*Plan).meets", begin("return false"), detectTests},
	{"posts of X that become visible behind the newest one are found", "fetcher/xapi", "(*bounds).begin", swap("min(since, known.from)", "since"), xapiTests},
	{"a post of X that was not dealt with is read again", "fetcher/xapi", "(*bounds).begin", swap("q.Seen(known.newest)", "true"), xapiTests},
	{"posts that become visible late are found: the overlap", "detect/internal/accounts", "(*Targets).cutoff", begin("overlap = 0"), detectTests},
	{"a range that was not read is a gap", "detect/internal/poll", "(*Machine).noteGaps", never("out.Capped"), detectTests},
	{"a gap is closed only when it was read", "detect/internal/poll", "(*Machine).noteFill", always("out.Complete"), detectTests},
	{"a failed poll does not move the cursor", "detect/internal/poll", "(*Poll).Whole", begin("if p.Out.Err != nil { return true }"), detectTests},
	{"the cursor stays behind who joined during the poll", "detect/internal/poll", "(*Machine).cursor", never("from.Before(since)"), detectTests},
	{"the journal's cursor goes back for who joins", "detect/internal/shards", "(*Shard).KeepAccounts", begin(`sourceID = ""`), detectTests},
	{"a gap that is read on keeps the cursor behind who joined", "detect/internal/poll", "(*Machine).cursor", swap("m.targets.Resume(p.Slot)", "p.Out.Begun"), detectTests},
	{"a monitor that joins gets what the account showed before", "detect/internal/accounts", "(*Targets).anyFresh", begin("return false"), detectTests},
	{"a rule that joins gets what its query showed before", "detect/internal/queries", "(*Targets).followQuery", swap("sub{…}", "sub{Terms: t, from: start.From, read: start.Read}"), detectTests},
	{"an unchanged page hides no post that was dropped", "detect/internal/accounts", "(*Targets).Apply", never("p.Sound"), detectTests},
	{"an unchanged search does not make its posts forgotten", "detect/internal/queries", "(*Query).note", drop("q.seen.Add"), detectTests},
	{"an engine that starts again goes on with its monitors", "internal/control", "(*Manager).track", swap("*h.Status != Active", "*h.Status == Active"), rootTests},

	// Nothing is detected twice, nothing is lost once detected.
	{"nothing is applied before the commit", "detect/internal/poll", "(*Machine).Landed", begin("m.targets.Apply(p)"), detectTests},
	{"a failed commit is as if the poll had not been", "detect/internal/poll", "(*Machine).Settled", always("err == nil"), detectTests},
	{"a chain of services resumes where it was", "fetcher/remote", "position.known", begin("return false"), []string{"./fetcher/remote"}},
	{"nothing is sent before the commit", "detect", "(*committer).try", begin("c.handOver(group)"), detectTests},
	{"what an account showed is remembered", "detect/internal/accounts", "(*Targets).Apply", drop("a.windows.Set"), detectTests},
	{"history is not delivered", "detect/internal/poll", "(*judge).give", never("reader.Since.Add(-skew)"), detectTests},
	{"another account's post is not this one's", "detect/internal/poll", "(*View).ownPost", begin("return true"), detectTests},

	// A stream is a hint, and polls are the truth; sources do not disturb each other.
	{"a position is stored with the posts before it", "detect/internal/push", "(*Positions).With", never("!p.open[i].done"), detectTests},
	{"what a stream brings does not move what was read", "detect/internal/poll", "(*Poll).Whole", begin("if p.Plan.Pushed { return true }"), detectTests},
	{"a post that a stream missed has polls come back", "detect/internal/push", "(*Health).trusted", begin("return !h.up.IsZero()"), detectTests},
	{"an account rests when it was read since the stream brings it", "detect/internal/accounts", "(*Pushed).audits", never("t.since < t.from"), detectTests},
	{"the stream of a PDS goes on where it ended", "fetcher/bluesky", "(*repoStream).resume", begin("return"), blueskyTests},
	{"the position of a PDS is not ahead of what was emitted", "fetcher/bluesky", "(*repoStream).message", swap("e.Seq", "e.Seq + 20"), blueskyTests},
	{"a stream on which nothing comes is connected anew", "detect/internal/push", "(*Supervisor).cut", drop("l.cancel"), detectTests},
	{"a stream that was cut as silent is not trusted", "detect/internal/push", "(*Supervisor).cut", drop("s.cfg.health.broken"), []string{"./detect/internal/push"}},
	{"a stream that left something out has its accounts polled at once", "detect/internal/accounts", "(*Pushed).Cover", swap("!unbroken", "false"), detectTests},
	{"a post that a stream brings waits for the poll of its account", "detect/internal/poll", "(*Machine).Push", never("t.Polled"), detectTests},
	{"a mark that has changed has an account polled", "internal/probe", "(*Sweep).compare", drop("s.hurry"), detectTests},
	{"a closed bucket closes nothing else", "detect/internal/poll", "(*Env).Bucket", begin(`return ""`), detectTests},
	{"posts of two platforms with one id are two", "detect/internal/poll", "eventID", never(`platform != ""`), rootTests},
	{"cursors of two platforms are two", "internal/platforms", "journal.Commit", swap("j.prefix + c.Target", "c.Target"), []string{"./internal/platforms"}},

	// Ids are the same for the same thing.
	{"an event's id follows from its source and its post", "deliver", "EventID", begin(`sourceID = ""`), []string{"./deliver", "./detect"}},
	{"a delivery's id follows from its event and its endpoint", "deliver", "DeliveryID", begin(`endpointID = ""`), []string{"./deliver", "./storage/memory"}},
	{"a charge's id follows from its minute", "billing", "chargeID", swap("int64(m)", "0"), billingTests},

	{"a query is searched for when a stream brings as much as a poll reads", "detect/internal/queries", "(*Query).full", begin("return false"), detectTests},
	{"a post that matches several queries is done when all have it", "detect/internal/push", "(*Supervisor).post", swap("i == len(names) - 1", "i == 0"), []string{"./detect/internal/push"}},

	// What a platform charges is counted and bounded; adapters pay for nothing twice.
	{"a day's limit of cost stops all calls", "detect/internal/spend", "(*Spend).reached", begin("return 0, 0, false"), detectTests},
	{"what was spent before a restart counts", "detect", "(*keeper).charges", begin("return"), detectTests},
	{"an answer from memory covers what it is as of, and no more", "detect/internal/poll", "(*Env).take", never("!pg.AsOf.IsZero()"), detectTests},
	{"a feed that came cut is asked for in full", "fetcher/feed", "(*Fetcher).keep", never("!whole"), []string{"./fetcher/feed"}},
	{"what a feed has shown before a restart is no news", "fetcher/feed", "(*Fetcher).load", begin("return loadMemory(nil)"), []string{"./fetcher/feed"}},
	{"an entry of a feed whose guid changes is the same entry", "fetcher/feed", "(*reading).find", swap("r.byPage[it.page]", "nil"), []string{"./fetcher/feed"}},
	{"what a hub pushes has its feed polled", "fetcher/feed", "(*WebSub).push", begin("return"), []string{"./fetcher/feed"}},
	{"what is not signed by the hub is no push", "fetcher/feed/internal/websub", "signed", begin("return true, nil"), []string{"./fetcher/feed/internal/websub"}},

	// At least once to the receiver, with the same id and the same bytes.
	{"every attempt sends the same bytes", "deliver/dispatch", "(*scheduler).begin", swap("it.Delivery", "func() deliver.Delivery { d, ev := it.Delivery, *it.Event; ev.Body = append(append([]byte{}, ev.Body...), make([]byte, it.Attempts)...); d.Event = &ev; return d }()"), dispatchTests},
	{"a delivery has all of its attempts", "deliver/dispatch", "(*scheduler).conclude", swap("len(schedule)", "len(schedule) - 1"), dispatchTests},
	{"who lost a claim does not send", "deliver/dispatch", "(*scheduler).begin", never("s.cfg.leaseCovers(it.Due, now)"), dispatchTests},
	{"an attempt that a shutdown cut is no failure", "deliver/dispatch", "(*workers).attempt", never("ctx.Err()"), dispatchTests},
	{"what does not fit into a lane is kept", "deliver/dispatch", "(*scheduler).push", drop("s.overflow.add"), dispatchTests},
	{"a dispatcher claims for its own lanes alone", "deliver/dispatch", "(*scheduler).beginRound", swap("s.share.parts", "nil"), dispatchTests},
	{"parts are given when what was queued is in the outbox", "deliver/dispatch", "(*Dispatcher).SetParts", swap("changeDue(ctx, d.cfg, d.sched.takeSpilled(), d.cfg.Now())", "func() ([]dueChange, error) { go changeDue(ctx, d.cfg, d.sched.takeSpilled(), d.cfg.Now()); return nil, nil }()"), dispatchTests},
	{"a dispatcher that lost its parts gives no claims back", "deliver/dispatch", "(*Dispatcher).Lose", begin("d.SetParts(context.Background(), fleet.Set{})"), dispatchTests},
	{"a WebSocket client is sent no event twice", "deliver/wshub", "(*stream).push", swap("ev.Seq <= s.head", "ev.Seq < s.head"), wshubTests},
	{"a WebSocket client that comes back goes on where it was", "deliver/wshub", "(*stream).join", swap("from.seq <= s.head", "false"), wshubTests},
	{"a WebSocket client that comes back takes nothing new for something old", "deliver/wshub", "(*start).of", swap("f.epoch == epoch", "true"), wshubTests},
	{"a WebSocket client gets what the hub was not told of", "deliver/wshub", "(*stream).follow", swap("inbox[i].Seq > s.head + 1", "false"), wshubTests},

	// One bad neighbour harms nobody.
	{"an endpoint has a cap of requests under way", "deliver/dispatch", "(*lane).wantsWorker", swap("l.queue.inFlight < l.maxInFlight()", "true"), dispatchTests},
	{"slow endpoints do not take all workers", "deliver/dispatch", "(*readyQueue).mayUse", begin("return free > 0"), dispatchTests},
	{"an endpoint that fails is left alone for a while", "deliver/dispatch", "(*breaker).record", always("all < breakerLeast"), dispatchTests},
	{"a dead endpoint is disabled", "deliver/dispatch", "(*health).record", never("h.failures >= disableFailures"), dispatchTests},
	{"an attempt ends by its timeout", "deliver/dispatch", "(*workers).attempt", swap("context.WithTimeout(ctx, w.cfg.Timeout)", "context.WithCancel(ctx)"), dispatchTests},
	{"a rate limit of the platform stops all calls", "detect/internal/poll", "(*Env).close", drop("e.Budget.CloseFor"), detectTests},
	{"a Fetcher that panics has failed", "detect/internal/poll", "(*Env).call", swap("recover()", "any(nil)"), detectTests},
	{"an owner does not draw the budget of the others", "internal/pace", "(*owners).draw", swap("max(0, min(ownerMost, who.stretch))", "0"), []string{"./internal/pace"}},

	// Latency is told as it is.
	{"a quantile is never below the true one", "latency", "Snapshot.Quantile", swap("upperBound(i)", "upperBound(max(0, i-1))"), []string{"./latency"}},
	{"the parts of a latency add up", "detect/internal/poll", "(*Stages).record", begin("due = due.Add(time.Hour)"), detectTests},

	// Everything is bounded.
	{"a poll reads no more pages than it may", "detect/internal/poll", "(*Env).take", swap("len(out.Pages) >= most", "false"), detectTests},
	{"an account is not polled more often than its interval", "detect/internal/schedule", "(*ByInterval).Done", swap("s.accounts.Interval(slot)", "s.accounts.Interval(slot) / 2"), detectTests},
	{"an upstream's body has a cap", "fetcher/upstream", "(*Client).bodyError", never("n > c.cfg.MaxBody"), []string{"./fetcher/upstream"}},
	{"a WebSocket client that floods is cut", "deliver/wshub", "(*conn).heard", never("maxHeard"), wshubTests},

	// Strangers get nothing.
	{"webhooks reach no private address", "internal/netguard", "checkAddr", begin("return nil"), []string{"./internal/netguard", "./deliver/webhook"}},
	{"a signature is over its own body", "deliver/webhook", "(*keyed).with", drop("m.Reset"), webhookTests},
	{"a signature is checked", "deliver", "Verify", begin("return true"), []string{"./deliver", "./deliver/receive"}},
	{"a secret prints as ***", "secret", "Value.Format", swap("Redacted", `"secret"`), []string{"./secret"}},
	{"a key that was revoked or has expired is not valid", "apikey", "Key.Valid", swap("now.Before(k.ExpiresAt)", "!now.IsZero()"), apikeyTests},
	{"a key that was revoked is forgotten at once", "apikey", "(*cache).put", never("c.changes"), apikeyTests},
	{"a key that may read does not write", "enginehttp", "(*route).permits", never("s.CanWrite()"), httpTests},
	{"a cursor is good for its owner alone", "enginehttp", "cursors.mac", begin(`c.owner = ""`), httpTests},
	{"what is made for an owner who is erased meanwhile is refused", "storage/memory", "(*recordTable).refused", begin("return false"), memoryTests},
	{"a repeated request is for the same body", "enginehttp", "(*repeat).name", swap("string(c.body)", `""`), httpTests},
	{"a change of what somebody else has changed is refused", "enginehttp", "(*Handler).route", never("rt.match"), httpTests},
	{"a WebSocket client gets what it asks for alone", "deliver/wshub", "(*filter).takes", begin("return true"), wshubTests},

	// Credits are right to the thousandth.
	{"a day's minutes make the day's price", "billing", "cost", begin("return perDay / minutesPerDay * Credits(n)"), billingTests},
	{"a charge whose client has left is made", "billing", "(*Charge).settle", swap("context.WithoutCancel(ctx)", "ctx"), billingTests},
	{"what credits do not cover is not made", ".", "(*limits).credits", swap("price <= paid", "price >= paid"), rootTests},
	{"what credits do not cover any more is paused", ".", "streams.Pause", begin("return nil"), rootTests},
	{"nothing is charged for an answer that nobody got", "enginehttp", "(*Handler).route", begin("r = r.WithContext(context.WithoutCancel(r.Context()))"), httpTests},

	// A store keeps what it has acknowledged, once.
	{"memory: a known event is not stored again", "storage/memory", "(*events).record", never("l.byID[k]"), memoryTests},
	{"memory: a claim holds for its time", "storage/memory", "outbox.Claim", begin("r.Lease = 0"), memoryTests},

	// Of several engines each has its parts, and no other writes for them.
	{"memory: a fence that is over is refused", "storage/memory", "(*roster).fenced", swap("t.generation != b.Fence.Generation", "false"), memoryTests},
	{"memory: a term whose lease lasts is not ended", "storage/memory", "members.Beat", swap("other.over(now)", "true"), memoryTests},
	{"memory: a lease that ends too late is moved", "storage/memory", "members.Beat", never("other.until.After(latest)"), memoryTests},
	{"memory: grants never sum up to more than there is", "storage/memory", "(*roster).grant", swap("other != t", "false"), memoryTests},
	{"memory: a claim is of its parts", "storage/memory", "(*queue).claimable", swap("!r.Parts.Has(l.part)", "false"), memoryTests},
	{"sqlite: a file is one store's at a time", "storage/sqlite", "takeHold", begin(`path = fmt.Sprintf("%s-%p", path, &path)`), sqliteTests},
	{"sqlite: a claim holds for its time", "storage/sqlite", "outbox.Claim", begin("r.Lease = 0"), sqliteTests},
	{"sqlite: a commit has all of its batches", "storage/sqlite", "journal.Commit", begin("batches = batches[:min(len(batches), 1)]"), sqliteTests},
	{"sqlite: a reservation holds its amount", "storage/sqlite", "ledger.Reserve", begin("r.Amount = 1"), sqliteTests},
	{"redisstore: a claim holds for its time", "storage/redisstore", "outbox.Claim", begin("r.Lease = 1"), redisTests},
	{"redisstore: a commit has all of its batches", "storage/redisstore", "journal.Commit", begin("batches = batches[:min(len(batches), 1)]"), redisTests},
	{"redisstore: a reservation holds its amount", "storage/redisstore", "ledger.Reserve", begin("r.Amount = 1"), redisTests},
	{"node: parts are given when the host has stopped them", "internal/node", "(*term).start", begin(`if what.kind == "give" { go do(ctx, what.own, what.parts); do = func(context.Context, fleet.Set, fleet.Set) error { return nil } }`), nodeTests},
	{"node: parts are begun when the beat that took them is answered", "internal/node", "(*term).plan", begin("free := fleet.All(); for _, m := range t.n.roster.state.Members { free = free.Minus(m.Parts) }; t.taken = t.taken.Plus(free.Minus(t.hosted))"), nodeTests},
	{"node: a quarter of the parts is given at once", "internal/node", "(*term).plan", swap("min(above, atOnce)", "above"), nodeTests},
	{"node: a quarter of the parts is taken at once", "internal/node", "(*term).want", swap("min(v.want, has.Len() + atOnce)", "v.want"), nodeTests},
	{"node: no clock alone ends a term", "internal/node", "(*roster).gone", begin("return m.Over"), nodeTests},
	{"node: an outage of the store is no silence of others", "internal/node", "(*roster).note", always("blind <= r.times.lease / 2"), nodeTests},
	{"node: a grant goes up when the store has granted it", "internal/node", "(*grants).asks", always("rate < now"), nodeTests},
	{"node: a grant comes down before the store hears of it", "internal/node", "(*grants).asks", never("rate < now"), nodeTests},
	{"node: a term that has ended gives nothing back", "internal/node", "(*Node).Run", swap("n.cfg.Host.Lost()", "func() { n.cfg.Host.Give(ctx, fleet.Set{}, n.Parts()); n.cfg.Host.Lost() }()"), nodeTests},
	{"node: parts that were taken and not given end the term", "internal/node", "(*term).beat", never("t.hosted.Minus(st.Own)"), nodeTests},
	{"node: trust is counted from before the beat was sent", "internal/node", "(*term).beat", swap("sent.Add(n.times.lease - n.times.margin)", "time.Now().Add(n.times.lease - n.times.margin)"), nodeTests},
	{"node: without trust the host is held", "internal/node", "(*Node).watch", never("hold != held"), nodeTests},
	{"node: a refused commit waits for the beat under way", "internal/node", "(*Node).Moved", begin("ctx, cancel := context.WithCancel(ctx); cancel()"), nodeTests},
	{"node: two engines of one name do not end each other for ever", "internal/node", "(*Node).rejoin", never("n.roster.dead(m.Term)"), nodeTests},
	{"node: the own last term is no other engine's", "internal/node", "(*Node).rejoin", swap("m.Term != own", "(m.Term != own || true)"), nodeTests},
	{"node: the host hears of another epoch", "internal/node", "(*Node).note", drop("n.cfg.Host.Epoch"), nodeTests},
	{"node: a node that joins asks for parts at once", "internal/node", "(*term).run", swap("t.next", "_"), nodeTests},

	// Detection by parts.
	{"nothing of a part is committed after SetParts has given it up", "detect", "(*sharing).set", swap("sh.WhenSettled(done)", "done()"), detectTests},
	{"a part that is taken begins at the cursors of then", "detect/internal/shards", "(*All).Divide", swap("!part[i].Known", "div.taken == nil"), detectTests},
	{"authors of other nodes' parts count when rules are decided", "detect", "(*router).covered", swap("r.d.sharing.elsewhere.Wants(accounts.Hash(subs[i].timelines[k]), nil).ByMonitor", "0*r.d.sharing.elsewhere.Wants(accounts.Hash(subs[i].timelines[k]), nil).ByMonitor"), detectTests},
	{"a part's query is searched for by one node", "detect", "(*router).fromSearch", swap("r.d.sharing.share.Query(sub.Query)", "true"), detectTests},
	{"a stream that is given up stores no position", "detect/internal/push", "(*Stream).Position", swap("s.turn.off.Load()", "false"), detectTests},
	{"a commit that is fenced is no trouble", "detect/internal/poll", "(*Machine).reschedule", never("errors.Is(err, fleet.ErrFenced)"), detectTests},
}
