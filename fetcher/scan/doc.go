// Package scan finds a few members of each element of a JSON list without
// decoding the rest, so that an adapter can tell which posts of a page are new
// and decode only these.
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
//	cursor, _ := s.Top(0).Text() // "cursor", once Next has returned false
//
// Value.Members then reads such an element member by member, without checking
// its syntax again.
//
// Next returns an element before the rest of the body is read, so elements may
// be used only once Err has returned nil after the last one.
//
// # What is accepted
//
// Exactly the documents for which encoding/json.Valid reports true (RFC 8259,
// without a check for valid UTF-8), down to its limit of 10,000 lists and
// objects within each other. Len tells whether a valid document has the list of
// the plan. Elements may be of any type; one that is not an object has no members.
//
// # Which member is meant
//
// The one with exactly that name, byte for byte: a name in another case or with escapes
// is another name. The last of several wins, null and values of another type included;
// the members of an object that comes twice are taken together. If the list comes twice,
// Next goes through both, and Len counts the elements of the last one only.
package scan
