// Package sink is a receiver of webhooks in a process of its own, whose
// work is not measured: the program runs itself again as the sink.
//
//	func main() {
//		if sink.Child() {
//			return
//		}
//		s, err := sink.Start(sink.Config{Hosts: 200})
//		defer s.Stop()
//		// POST to s.URL(i, "/")
//	}
//
// It speaks as little HTTP/1.1 as is needed: a request with a Content-Length is
// answered by an empty 200, as soon as its body was read.
package sink
