// Package control changes monitors and rules, and makes the running engine follow them.
//
// A change is checked, gets its price and its limits, and is stored by one record.Store.Apply
// together with the endpoint of its webhook_url. Follower then reads the feed of the store and
// applies each changed record to the engine: changes of this process before the call returns,
// those of others within a second. There is no other way from a record to the engine.
package control
