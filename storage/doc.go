// Package storage names what a backend has to offer: Store, a set of accessors
// to the ports that the other packages own.
//
// The contract of each port is written where it is declared: monitor.Store,
// rule.Store, deliver.EndpointStore, detect.Journal, deliver.Outbox,
// deliver.Log and billing.Ledger. Journal, Outbox, Log and Ledger share one
// transaction domain: a commit is seen whole in all of them, or not at all.
//
// storage/memory is the backend for tests and for services that need nothing to
// survive a restart. To change one role of a backend, embed the Store and
// override its accessor.
package storage
