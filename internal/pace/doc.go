// Package pace decides which account to poll next, so that posts are found as
// early as a budget of requests allows. It is pure: the caller passes the time,
// and calls it from one goroutine.
//
//	p, err := pace.New(5) // requests a second
//	err = p.Add(slot, now, pace.Account{})             // a new one
//	err = p.Resume(slot, now, until, pace.Account{})   // one that was paced until then
//	…
//	slot, ok := p.Next(now)                           // whenever a request may be made
//	due, err := p.Observe(slot, now, postTimes)       // it succeeded and found these
//	due, err = p.History(slot, now, since, postTimes) // it was the account's first
//	p.Fail(slot, until)                               // it failed
//
// Hurry puts an account first. Budget and Intervals forecast what a way of
// polling brings.
//
// # Policy
//
// For Poisson posting the mean delay is least when each account is polled at even
// intervals whose lengths go with the inverse root of its rate λ: (2ν/λ)^½ for one
// price ν. An exponent of 0.42 in place of ½ costs little of the mean and
// shortens the tail much. So does shortening the intervals beyond an equal share.
//
// The rate is an estimate from two decayed counts, of a week and of half an
// hour, so that it follows a burst. How far the fast count is to be followed is
// learnt: for accounts of a similar slow and fast rate, a record of what was
// expected and what was found corrects the estimate. So bursts count for much
// where they last, and for little where posts are independent.
//
// Many accounts post on a schedule, at minutes of their own. A profile of the
// hour in twenty parts predicts when, and is trusted as far as it predicted the
// account's earlier posts. Such an account is polled when the posts expected since
// its last poll have waited long enough together: soon after its minutes. The hour
// is that of the caller's clock.
//
// Most accounts also keep to hours of the day. Counts by parts of two hours tell
// how an account's rate differs from its mean at the time of the poll. How far they
// are followed is learnt from all accounts together. Where an equal share is above
// an hour, they are left out.
//
// Where all accounts post at once, following their bursts gains nothing, and the mean is
// up to 4 % longer than at equal intervals.
//
// # Bounds
//
// The price follows the budget: it rises when polls come later than planned and
// falls when they come earlier. Polls are made ahead of plan rather than not at
// all, but never within an account's Min. None is planned beyond its Max, 2.2
// times an equal share by default. Polls that come 0.28 equal shares later than
// planned go before all others, in the order in which their Max ends. So no account
// starves: one of the default Max that does not fail is polled within 2.5 equal
// shares, give or take a request or two, as long as Next is called as often as the
// budget allows and no account is hurried. Where several accounts have a Max of
// their own that ends at the same time, the wait is longer by the polls of those
// that end first.
//
// # Fairness
//
// An owner draws at most the equal shares of its accounts and 0.17 of those of all others,
// by the posts, a high Weight or a short Max of its accounts: the intervals of an owner
// above this cap get longer until it keeps the cap, but not beyond the default Max. Polls
// that others leave over count little. Owners that act together are not recognized.
//
// A new account goes first, but those that one owner adds together have their first polls
// one after another: who adds few does not wait for who adds many.
//
// # Sources
//
// The least possible mean for Poisson posting, (Σ√λ)² / (2 B Σλ), and the idea of
// a price are from the literature on refresh scheduling: Sia, Cho, Cho, "Efficient
// monitoring algorithm for fast news alerts", TKDE 2007; Azar et al., "Tractable
// near-optimal policies for crawling", PNAS 2018.
//
// # Use
//
// A Pacer stands for one rate-limit bucket. Slots are indices that the caller
// gives out, dense from 0, below due.MaxSlots. Times are Unix nanoseconds, or
// any other clock that does not step back. Weight, Min and Max are kept with nine
// significant bits: Min is rounded up and Max down, by less than 0.4 %; a Max below
// its rounded Min is that Min. An account takes 68 bytes, and 4 more
// where there are several owners.
package pace
