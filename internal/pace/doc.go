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
// For Poisson posting the mean delay is lowest when each account is polled at even intervals of
// (2ν/λ)^½, where λ is the account's rate and ν a price common to all accounts. An exponent of
// 0.42 instead of ½ raises the mean little and shortens the tail much. Shortening the intervals
// that are longer than an equal share does the same. An equal share is the interval at which the
// budget could poll all accounts equally often.
//
// The rate is estimated from two decayed counts. The slow one covers about a week. The fast one
// covers about half an hour, and follows bursts. A record of posts expected and posts found, kept
// for accounts with similar slow and fast rates, corrects the estimate. So a burst raises the
// rate much where bursts last, and little where posts are independent.
//
// Many accounts post on a schedule, always at the same minutes of the hour. A profile of the hour
// in twenty parts predicts these minutes. It is trusted as far as it predicted the account's
// earlier posts. Such an account is polled soon after its minutes: when the waiting times of the
// posts expected since its last poll add up to enough. The hour is that of the caller's clock.
//
// Most accounts also post more at some hours of the day. Counts by parts of two hours show how an
// account's rate at the time of the poll differs from its mean. The posts of all accounts
// together show how far to follow these counts. If an equal share is longer than an hour, the
// counts are ignored.
//
// When all accounts have a burst at the same time, following the bursts gains nothing. The mean
// delay is then up to 4 % longer than at equal intervals.
//
// # Bounds
//
// The price follows the budget: it rises when polls come later than planned and falls when they
// come earlier. If no poll is due, polls are made ahead of plan, but never within an account's
// Min. No poll is planned beyond the account's Max, by default 2.2 equal shares. Polls that are
// 0.28 equal shares late go before all others, in the order in which their Max ends. So no
// account starves: an account with the default Max and without failures is polled within 2.5
// equal shares, give or take a request or two. This holds if Next is called as often as the
// budget allows and no account is hurried. If accounts set a Max and several end at the same
// time, they are polled one after another.
//
// # Fairness
//
// An owner can draw polls by its accounts' posts, by a high Weight or by a short Max. Its cap is
// the equal shares of its accounts plus 0.17 of the equal shares of all others. The intervals of
// an owner above its cap are lengthened until it keeps the cap, but not beyond the default Max.
// Polls ahead of plan count little. Owners that cooperate to get around the cap are not
// recognized.
//
// A new account goes first. If one owner adds many accounts, their first polls are made one after
// another. So an owner who adds few does not wait for an owner who adds many.
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
// A Pacer paces the requests of one rate-limit bucket. Slots are indices that the caller assigns,
// dense from 0, below due.MaxSlots. Times are in nanoseconds of the Unix epoch, or of any other
// clock that does not step back. Weight, Min and Max are stored with nine significant bits. Min
// is rounded up and Max down, by less than 0.4 %. A Max below its rounded Min becomes that Min.
// An account takes 68 bytes, and 4 more if there are several owners.
package pace
