// Package scan finds a few members of each element of a JSON list without
// decoding the rest, so that an adapter can tell which posts of a page are new
// before it pays for decoding them.
//
// A Plan says where the list is and what to look up. It is made once; scanning
// with it allocates nothing:
//
//	var plan = scan.NewPlan("feed", []string{"cursor"}, []string{"post.uri", "reason.$type"})
//
//	s := plan.Scan(body)
//	for s.Next() {
//		uri, ok := s.Value(0).Text() // "post.uri" of this element
//		whole := s.Element()         // to decode if it is new
//	}
//	err := s.Err()               // nil only if the whole body is valid JSON
//	cursor, _ := s.Top(0).Text() // "cursor", once Next gave false
//
// Value.Members then reads such an element member by member, without a second
// look at its syntax.
//
// Elements are handed out before the rest of the body was looked at, so what
// they say counts only after Err gave nil.
//
// # What is accepted
//
// Exactly the documents for which encoding/json.Valid reports true (RFC 8259,
// without a check for valid UTF-8), down to its limit of 10,000 lists and
// objects within each other. Whether a valid document has the shape of the
// plan is another question: Len answers it. Elements may be anything; one that
// is no object has no members.
//
// # Which member is meant
//
// The one encoding/json would store in a struct field of type RawMessage with
// that name, so that looking up and decoding agree: names match exactly, else
// in any case (Unicode simple folding); the last of several wins, null and
// values of another type included; the members of an object that comes twice
// are taken together. A list that comes twice is handed out twice, and Len
// counts the last one alone.
package scan
