// Package pace decides which account to poll next, so that posts are found as
// early as a budget of requests allows. It is pure: the caller passes the time,
// and calls it from one goroutine.
//
//	p, err := pace.New(pace.Config{Budget: 5}) // requests a second
//	err = p.Add(slot, now, pace.Account{})
//	…
//	slot, ok := p.Next(now)                           // whenever a request may be made
//	due, err := p.ObserveAt(slot, now, postTimes)     // it succeeded and found these
//	due, err = p.History(slot, now, since, postTimes) // it was the account's first
//	p.Fail(slot, until)                               // it failed
//
// NextBatch is Next for a call that carries several accounts, Observe is
// ObserveAt for posts of unknown times, and Hurry puts an account first.
//
// # Policy
//
// For Poisson posting the mean delay is least when accounts are polled evenly
// and in proportion to the root of their rates λ: at intervals (2ν/λ)^½ for one
// price ν. An exponent of 0.42 in place of ½ gives up little of the mean for
// a much shorter tail, and so does its reduction by a seventh for intervals beyond
// an equal share.
//
// The rate is an estimate from two decayed counts, of a week and of half an
// hour, so that a burst is followed while it lasts. What the fast count means is
// learnt, not assumed: for accounts of a similar slow and fast rate, a record of
// what was expected and what was found corrects the estimate. So bursts count
// for much where they last, and for little where posts are independent.
//
// Many accounts post on a schedule, at minutes of their own. A profile of the
// hour in twenty parts foretells when, and is believed as far as it foretold the
// account's posts before. Such an account is polled when the posts to be
// expected since its last poll have waited long enough together: soon after its
// minutes, and hardly before. The hour is that of the caller's clock.
//
// Most accounts also keep to hours of the day. Counts by parts of two hours tell
// how an account's rate differs from its mean at the time of the poll; how far that
// is followed is learnt from all accounts together, and is nothing where posts come at
// any hour. Where an equal share is above an hour, it is left out.
//
// What all this gains over equal intervals is measured, and as far as it gains less
// than 5 % of the mean delay, intervals become equal: so next to nothing is lost
// where all accounts are alike, or all post at once.
//
// The price follows the budget: it rises when polls come later than planned and
// falls when they come earlier. Polls are made ahead of plan rather than not at
// all, but never within an account's Min. None is planned beyond its Max, 2.2
// times the interval of an equal share unless set. A poll that comes 0.28 shares
// later than planned no longer waits for its turn by price: such polls go first,
// by when the Max ends. So nobody starves: whatever is posted, an account of the
// default Max that does not fail is polled within 2.5 shares, give or take a
// request or two, as long as Next is called as often as the budget allows and
// nobody is hurried. Where accounts have a Max of their own, and several end
// together, the wait is longer by the polls of those that end first.
//
// Rates come of what polls find, which an account could feign: one that posts
// after every poll would be polled ever more often. An account that truly posts that
// much looks the same, and deserves its polls. What tells is how long the others
// wait: when their posts wait longer in the mean than Config.OthersDelay times what
// they would at a fixed interval, the intervals of accounts whose polls nearly always
// find posts are lengthened until they no longer do, at most to an equal share. So
// when a tenth of the accounts post after every poll the others wait 1.1 times as
// long as at a fixed interval, and not twice as long. It takes about one post of each
// of the others until this holds. Others who would wait less than at a fixed interval
// may lose that gain.
//
// Config.OwnerSurplus caps what an owner draws with all of its accounts, by their
// posts, a high Weight or a short Max: the intervals of an owner above its cap are
// lengthened until it keeps it. Owners that act together are not told apart from
// others.
//
// The least possible mean for Poisson posting, (Σ√λ)² / (2 B Σλ), and the idea of
// a price are from the literature on refresh scheduling: Sia, Cho, Cho, "Efficient
// monitoring algorithm for fast news alerts", TKDE 2007; Azar et al., "Tractable
// near-optimal policies for crawling", PNAS 2018.
//
// A Pacer stands for one rate-limit bucket. Slots are indices that the caller
// gives out, dense from 0, below due.MaxSlots. Times are Unix nanoseconds, or
// any other clock that does not step back. Weight, Min and Max are kept with nine
// significant bits: Min is rounded up and Max down, by less than 0.4 %; a Max below
// its rounded Min is that Min. An account takes 68 bytes, and 4 more
// where there are several owners.
package pace
