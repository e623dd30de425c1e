// Package websub is the subscriber's half of WebSub (W3C, 2018) and of its predecessor
// PubSubHubbub. It subscribes to topics, renews leases, answers the verifications of hubs and
// checks the signatures of pushes. A push only says that a feed has changed; its content is not
// used.
//
// The path of a callback and the secret that signs its pushes are computed from a key and the
// feed. Nothing is stored: the next process with the same key computes the same values. It
// subscribes to everything again, which renews the leases. A Subscriber never unsubscribes. The
// answer to a push for an unwanted feed is 410, which tells the hub to stop.
package websub
