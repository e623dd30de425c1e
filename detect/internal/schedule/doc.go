// Package schedule decides when the accounts of a shard are polled. A Schedule orders them by the
// time of their next polls. ByInterval polls each account at its interval. ByBudget spends a budget
// of calls where it finds posts earliest.
//
// A shard asks for the next account, polls it, and reports the result:
//
//	due, ok := s.Next(now, false)
//	…
//	s.Done(due.Slot, now, poll, false) // or s.Put(due.Slot, later, Rested)
//
// Times are nanoseconds of the detector's clock.
package schedule
