// Package due implements a Queue of slots by due time, for many accounts and frequent
// changes.
//
//	var q due.Queue
//	q.Set(slot, now+int64(time.Minute))
//	slot, at, ok := q.Next() // stays scheduled until Set or Remove
//
// A slot is the index of an account in its owner's arrays, below MaxSlots. Times are
// nanoseconds of any clock, such as Unix time or the time since a start. They are rounded
// up to whole milliseconds: a slot is never due early, and less than a millisecond late.
package due
