// Package pace decides which account to poll next, to find posts as early as a budget of
// requests allows. It has no clock and no goroutines: the caller passes the time, and makes
// all calls from one goroutine.
//
//	p, err := pace.New(5) // requests per second
//	err = p.Add(slot, now, pace.Account{})             // a new account
//	err = p.Resume(slot, now, until, pace.Account{})   // an account that was paced until then
//	…
//	slot, ok := p.Next(now)                           // whenever a request may be made
//	due, err := p.Observe(slot, now, postTimes)       // the poll succeeded and found these posts
//	due, err = p.History(slot, now, since, postTimes) // the same for the account's first poll
//	p.Fail(slot, until)                               // the poll failed
//
// Hurry puts an account first. Budget and Intervals forecast the latency and cost of
// polling.
//
// # Policy
//
// For Poisson posting the mean delay is lowest when each account is polled at even
// intervals in proportion to the inverse root of its rate λ: (2ν/λ)^½ for a price ν common
// to all. An exponent of 0.42 instead of ½ costs little of the mean and shortens the tail
// much. So does shortening the intervals beyond an equal share.
//
// The rate is estimated from two decayed counts, of a week and of half an hour, which makes
// it follow a burst. How far to follow the fast count is learnt: for accounts with similar
// slow and fast rates, a record of posts expected and posts found corrects the estimate. So
// bursts count for much where they last, and for little where posts are independent.
//
// Many accounts post on a schedule, at minutes of their own. A profile of the hour in
// twenty parts predicts these minutes, and is trusted as far as it predicted the account's
// earlier posts. Such an account is polled when the posts expected since its last poll have
// waited long enough together: soon after its minutes. The hour is that of the caller's
// clock.
//
// Most accounts also keep to hours of the day. Counts by parts of two hours show how an
// account's rate at the time of the poll differs from its mean. How far to follow them is
// learnt from all accounts together. If an equal share is longer than an hour, they are
// ignored.
//
// When all accounts post at once, following their bursts gains nothing, and the mean is up
// to 4 % longer than at equal intervals.
//
// # Bounds
//
// The price follows the budget: it rises when polls come later than planned and falls when
// they come earlier. If there is nothing else to do, polls are made ahead of plan, but
// never within an account's Min. None is planned beyond its Max, by default 2.2 times an
// equal share. Polls that come 0.28 equal shares later than planned go before all others,
// in the order in which their Max ends. So no account starves: one with the default Max
// that does not fail is polled within 2.5 equal shares, give or take a request or two. This
// holds as long as Next is called as often as the budget allows and no account is hurried.
// If several accounts have a Max of their own that ends at the same time, the wait is
// longer by the polls of those that end first.
//
// # Fairness
//
// An owner can draw polls by its accounts' posts, by a high Weight or by a short Max. Its
// cap is the equal shares of its accounts plus 0.17 of the equal shares of all others. The
// intervals of an owner above its cap are lengthened until it keeps the cap, but not beyond
// the default Max. Polls that others leave over count little. Owners that act together are
// not recognized.
//
// A new account goes first. Accounts that one owner adds together have their first polls
// one after another: an owner who adds few does not wait for one who adds many.
//
// # Sources
//
// The lowest possible mean for Poisson posting, (Σ√λ)² / (2 B Σλ), and the idea of a price
// are from the literature on refresh scheduling: Sia, Cho, Cho, "Efficient monitoring
// algorithm for fast news alerts", TKDE 2007; Azar et al., "Tractable near-optimal policies
// for crawling", PNAS 2018.
//
// # Use
//
// A Pacer paces the requests of one rate-limit bucket. Slots are indices that the caller
// assigns, dense from 0, below due.MaxSlots. Times are Unix nanoseconds, or those of any
// other clock that does not step back. Weight, Min and Max are stored with nine significant
// bits: Min is rounded up and Max down, by less than 0.4 %; a Max below its rounded Min
// becomes that Min. An account takes 68 bytes, and 4 more if there are several owners.
package pace
