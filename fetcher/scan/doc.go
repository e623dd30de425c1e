// Package scan finds a few members of each element of a JSON list without decoding the rest.
// With it, an adapter finds the new posts of a page and decodes only those.
//
// A Plan says where the list is and which members to look up. Make each Plan once; scanning
// with a Plan allocates nothing:
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
// Value.Members iterates over the members of an element, without checking the syntax again.
//
// Next reports an element before the Scanner has checked the rest of the body. Act on the
// elements only after Next has returned false and Err has returned nil.
//
// # What is accepted
//
// A Scanner accepts exactly the documents for which encoding/json.Valid reports true (RFC 8259,
// without a check for valid UTF-8). The limit of 10,000 nested lists and objects is the same.
// Len reports whether the document has the plan's list. Elements may be of any type; an element
// that is not an object has no members.
//
// # How names match
//
// Names are compared byte for byte: a name in another case or with escapes does not match. If a
// name occurs several times, the last value counts, even if that value is null or of another
// type. If an object of a path ("post" in "post.uri") occurs several times, members are looked
// up in all occurrences. If the list occurs twice, Next returns the elements of both lists, and
// Len counts those of the last list only.
package scan
