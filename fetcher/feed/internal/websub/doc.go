// Package websub is the subscriber's half of WebSub (W3C, 2018) and of its forerunner
// PubSubHubbub: it finds hubs, subscribes to topics, renews leases, answers hubs'
// verifications and checks what they push. What is in a push is nobody's affair here.
//
// A Subscriber has one subscription for each topic that is wanted. The path of its
// callback and its secret follow from a key and the topic: nothing is stored, and the
// next process with the same key has the same ones. It subscribes anew to all of them,
// which hubs take for renewals.
package websub
