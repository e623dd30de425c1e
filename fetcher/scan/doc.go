// Package scan finds a few members of each element of a JSON list without
// decoding the rest. With it, an adapter finds the new posts of a page and
// decodes only those.
//
// A Plan says where the list is and which members to look up. An adapter makes
// it once; scanning with it allocates nothing:
//
//	var plan = scan.NewPlan("feed", []string{"cursor"}, []string{"post.uri", "reason.$type"})
//
//	s := plan.Scan(body)
//	for s.Next() {
//		uri, ok := s.Value(0).Text() // "post.uri" of this element
//		whole := s.Element()         // to decode if it is new
//	}
//	err := s.Err()               // nil only if the whole body is valid JSON
//	cursor, _ := s.Top(0).Text() // "cursor", once Next has returned false
//
// Value.Members reads an element member by member, without checking its syntax
// again.
//
// Next reports an element before the rest of the body has been checked. Use the
// elements only after Next has returned false and Err has returned nil.
//
// # What is accepted
//
// A Scanner accepts exactly the documents for which encoding/json.Valid reports
// true (RFC 8259, without a check for valid UTF-8). The limit of 10,000 nested
// lists and objects is the same. Len reports whether the document has the plan's
// list. Elements may be of any type; one that is not an object has no members.
//
// # How names match
//
// Names are compared byte for byte: a name in another case or with escapes does not
// match. If a name occurs several times, its last value counts, even if that is null or
// of another type. If an object of a path ("post" in "post.uri") occurs several times,
// the members of all are looked up. If the list occurs twice, Next goes through both,
// and Len counts the elements of the last one only.
package scan
