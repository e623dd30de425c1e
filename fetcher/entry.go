package fetcher

// Entry has the fields of an RSS, Atom or JSON feed's entry that posts of social platforms do
// not have. In a Tweet of another platform it is nil, and the JSON leaves it out.
type Entry struct {
	Title      string      `json:"title"`
	Link       string      `json:"link"` // absolute URL of the entry's web page
	Categories []string    `json:"categories"`
	Enclosures []Enclosure `json:"enclosures"`
}

// Enclosure is a file that belongs to an Entry, such as an episode of a podcast.
type Enclosure struct {
	URL    string `json:"url"`
	Type   string `json:"type"`   // media type, "" when unknown
	Length int64  `json:"length"` // bytes, 0 when unknown
}

func (e *Entry) append(b []byte) []byte {
	b = strMember(b, `{"title":`, e.Title)
	b = strMember(b, `,"link":`, e.Link)
	b = listMember(b, `,"categories":`, e.Categories, appendStringItem)
	b = listMember(b, `,"enclosures":`, e.Enclosures, (*Enclosure).append)
	return append(b, '}')
}

func (e *Enclosure) append(b []byte) []byte {
	b = strMember(b, `{"url":`, e.URL)
	b = strMember(b, `,"type":`, e.Type)
	b = intMember(b, `,"length":`, e.Length)
	return append(b, '}')
}
