// Package batch passes items to one goroutine, which takes all items that have arrived since it
// last took some. So the first item does not wait, and the longer a batch takes, the more items
// are in the next one.
//
//	q := batch.NewQueue[event](0)
//	go func() {
//		for group := q.Wait(stop, 1024); len(group) > 0; group = q.Wait(stop, 1024) {
//			write(group)
//		}
//	}()
//	q.Put(e) // by any goroutine
//
// A Bell without a Queue is for a goroutine that gets its work from elsewhere.
package batch
