// Package due says what has to happen next: a Queue of slots by due time, for many
// accounts and frequent changes.
//
//	var q due.Queue
//	q.Set(slot, now+int64(time.Minute))
//	slot, at, ok := q.Next() // stays scheduled until Set or Remove
//
// A slot is the index of an account in its owner's arrays, below MaxSlots.
// Times are nanoseconds on whatever clock the owner uses, such as Unix time or
// time since a start, and are kept in whole milliseconds, rounded up: nothing
// comes early, and nothing a millisecond late.
package due
