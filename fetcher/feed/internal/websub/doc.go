// Package websub is the subscriber's half of WebSub (W3C, 2018) and of its forerunner
// PubSubHubbub: it subscribes to topics, renews leases, answers the verifications of hubs
// and checks the signatures of what they push. A push is a hint that a feed has changed:
// its content is not kept.
//
// The path of a callback and the secret that signs its pushes follow from a key and the
// feed: nothing is stored, and the next process with the same key has the same ones. It
// subscribes to everything again, which hubs take for renewals. Nobody unsubscribes: a
// push for a feed that is not wanted is answered with 410, which tells the hub to stop.
package websub
