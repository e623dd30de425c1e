// Package batch passes items to one goroutine. The goroutine takes all items that have arrived
// since it last took items. So the first item does not wait, and the longer the work for a batch
// takes, the more items the next batch has.
//
//	q := batch.NewQueue[event](0)
//	go func() {
//		for group := q.Wait(stop, 1024); len(group) > 0; group = q.Wait(stop, 1024) {
//			write(group)
//		}
//	}()
//	q.Put(e) // by any goroutine
//
// A Bell without a Queue wakes a goroutine that gets its work from elsewhere.
package batch
