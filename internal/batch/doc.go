// Package batch passes work to one goroutine that takes whatever has come since it
// looked last: the first item is not held up, and the longer a batch takes, the
// more items share the next one.
//
//	q := batch.NewQueue[event](0)
//	go func() {
//		for group := q.Wait(stop, 1024); len(group) > 0; group = q.Wait(stop, 1024) {
//			write(group)
//		}
//	}()
//	q.Put(e) // by any goroutine
//
// A Bell alone is for a goroutine that finds its work elsewhere.
package batch
