// Package due implements a queue of slots in the order of their due times, for many accounts and
// frequent changes.
//
//	var q due.Queue
//	q.Set(slot, now+int64(time.Minute))
//	slot, at, ok := q.Next() // slot stays scheduled until Set or Remove
//
// A slot is the index of an account in the caller's arrays, below MaxSlots. Times are nanoseconds
// of any clock, such as Unix time or the time since a start. They are rounded up to whole
// milliseconds, so a slot is never due early, and less than a millisecond late.
package due
