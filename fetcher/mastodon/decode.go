package mastodon

import (
	"strconv"

	"github.com/streamwatch/streamwatch/fetcher/scan"
)

// Each decode method decodes a document in one pass, by the names in its type's tags. The
// document must be valid JSON. As with encoding/json, null and values of another type leave a
// field unchanged. TestDecodeAsEncodingJSONDoes compares the results with those of encoding/json.

func (s *status) decode(doc scan.Value, boosted bool) {
	for name, v := range doc.Members() {
		switch string(name) {
		case "id":
			s.ID = readIdent(v)
		case "uri":
			readText(&s.URI, v)
		case "url":
			readText(&s.URL, v)
		case "created_at":
			readText(&s.CreatedAt, v)
		case "account":
			if a := readObject(&s.Account, v); a != nil {
				a.decode(v)
			}
		case "content":
			readText(&s.Content, v)
		case "spoiler_text":
			readText(&s.SpoilerText, v)
		case "language":
			readText(&s.Language, v)
		case "visibility":
			readText(&s.Visibility, v)
		case "sensitive":
			readBool(&s.Sensitive, v)
		case "in_reply_to_id":
			s.InReplyToID = readIdent(v)
		case "in_reply_to_account_id":
			s.InReplyToUserID = readIdent(v)
		case "reblog":
			if boosted {
				break // a boost of a boost counts as the boosted post
			}
			if b := readObject(&s.Reblog, v); b != nil {
				b.decode(v, true)
			}
		case "quote":
			if q := readObject(&s.Quote, v); q != nil {
				q.decode(v)
			}
		case "quote_id":
			s.QuoteID = readIdent(v)
		case "pleroma":
			if p := readObject(&s.Pleroma, v); p != nil {
				p.decode(v)
			}
		case "media_attachments":
			s.Media = readList(v, (*attachment).decode)
		case "mentions":
			s.Mentions = readList(v, (*mention).decode)
		case "tags":
			s.Tags = readList(v, (*tag).decode)
		case "card":
			if c := readObject(&s.Card, v); c != nil {
				c.decode(v)
			}
		case "poll":
			if p := readObject(&s.Poll, v); p != nil {
				p.decode(v)
			}
		case "application":
			if a := readObject(&s.Application, v); a != nil {
				a.decode(v)
			}
		case "replies_count":
			readNumber(&s.RepliesCount, v)
		case "reblogs_count":
			readNumber(&s.ReblogsCount, v)
		case "favourites_count":
			readNumber(&s.FavouritesCount, v)
		case "quotes_count":
			readNumber(&s.QuotesCount, v)
		case "favourited":
			readBool(&s.Favourited, v)
		case "reblogged":
			readBool(&s.Reblogged, v)
		case "bookmarked":
			readBool(&s.Bookmarked, v)
		}
	}
}

func (a *account) decode(doc scan.Value) {
	for name, v := range doc.Members() {
		switch string(name) {
		case "id":
			a.ID = readIdent(v)
		case "username":
			readText(&a.Username, v)
		case "acct":
			readText(&a.Acct, v)
		case "display_name":
			readText(&a.DisplayName, v)
		case "created_at":
			readText(&a.CreatedAt, v)
		case "note":
			readText(&a.Note, v)
		case "url":
			readText(&a.URL, v)
		case "avatar":
			readText(&a.Avatar, v)
		case "header":
			readText(&a.Header, v)
		case "followers_count":
			readNumber(&a.FollowersCount, v)
		case "following_count":
			readNumber(&a.FollowingCount, v)
		case "statuses_count":
			readNumber(&a.StatusesCount, v)
		case "suspended":
			readBool(&a.Suspended, v)
		}
	}
}

func (q *quote) decode(doc scan.Value) {
	for name, v := range doc.Members() {
		switch string(name) {
		case "id":
			q.ID = readIdent(v)
		case "state":
			readText(&q.State, v)
		case "quoted_status_id":
			q.QuotedID = readIdent(v)
		case "quoted_status":
			if s := readObject(&q.QuotedStatus, v); s != nil {
				s.decode(v)
			}
		}
	}
}

func (q *quotedStatus) decode(doc scan.Value) {
	for name, v := range doc.Members() {
		if string(name) == "id" {
			q.ID = readIdent(v)
		}
	}
}

func (p *pleroma) decode(doc scan.Value) {
	for name, v := range doc.Members() {
		switch string(name) {
		case "conversation_id":
			p.ConversationID = readIdent(v)
		case "quote_id":
			p.QuoteID = readIdent(v)
		}
	}
}

func (a *attachment) decode(doc scan.Value) {
	for name, v := range doc.Members() {
		switch string(name) {
		case "id":
			a.ID = readIdent(v)
		case "type":
			readText(&a.Type, v)
		case "url":
			readText(&a.URL, v)
		case "preview_url":
			readText(&a.PreviewURL, v)
		case "remote_url":
			readText(&a.RemoteURL, v)
		case "description":
			readText(&a.Description, v)
		case "meta":
			for name, v := range v.Members() {
				if string(name) == "original" {
					a.Meta.Original.decode(v)
				}
			}
		}
	}
}

func (o *original) decode(doc scan.Value) {
	for name, v := range doc.Members() {
		switch string(name) {
		case "width":
			readNumber(&o.Width, v)
		case "height":
			readNumber(&o.Height, v)
		case "duration":
			readNumber(&o.Duration, v)
		}
	}
}

func (m *mention) decode(doc scan.Value) {
	for name, v := range doc.Members() {
		switch string(name) {
		case "id":
			m.ID = readIdent(v)
		case "username":
			readText(&m.Username, v)
		case "acct":
			readText(&m.Acct, v)
		case "url":
			readText(&m.URL, v)
		}
	}
}

func (t *tag) decode(doc scan.Value) {
	for name, v := range doc.Members() {
		switch string(name) {
		case "name":
			readText(&t.Name, v)
		case "url":
			readText(&t.URL, v)
		}
	}
}

func (c *card) decode(doc scan.Value) {
	for name, v := range doc.Members() {
		switch string(name) {
		case "url":
			readText(&c.URL, v)
		case "title":
			readText(&c.Title, v)
		case "image":
			readText(&c.Image, v)
		}
	}
}

func (p *poll) decode(doc scan.Value) {
	for name, v := range doc.Members() {
		switch string(name) {
		case "id":
			p.ID = readIdent(v)
		case "expires_at":
			readText(&p.ExpiresAt, v)
		case "options":
			p.Options = readList(v, (*option).decode)
		}
	}
}

func (o *option) decode(doc scan.Value) {
	for name, v := range doc.Members() {
		switch string(name) {
		case "title":
			readText(&o.Title, v)
		case "votes_count":
			readNumber(&o.Votes, v)
		}
	}
}

func (a *application) decode(doc scan.Value) {
	for name, v := range doc.Members() {
		if string(name) == "name" {
			readText(&a.Name, v)
		}
	}
}

func readIdent(v scan.Value) ident { return ident(identText(v)) }

func readText(s *string, v scan.Value) {
	if text, ok := v.Text(); ok {
		*s = string(text)
	}
}

func readBool(b *bool, v scan.Value) {
	switch string(v) {
	case "true":
		*b = true
	case "false":
		*b = false
	}
}

func readNumber(f *float64, v scan.Value) {
	if c := v[0]; c != '-' && (c < '0' || c > '9') {
		return
	}
	if n, err := strconv.ParseFloat(string(v), 64); err == nil {
		*f = n
	}
}

// readObject returns *p, into which the caller decodes the object v. If *p is nil, readObject
// allocates it. If v is not an object, it returns nil. If v is null, it also sets *p to nil.
func readObject[T any](p **T, v scan.Value) *T {
	switch {
	case v[0] == '{':
		if *p == nil {
			*p = new(T)
		}
		return *p
	case string(v) == "null":
		*p = nil
	}
	return nil
}

// anyList is the plan to scan a list of which no member is looked up.
var anyList = scan.NewPlan("", nil, nil)

// readList decodes the first maxItems elements of a list, except null. It returns nil if v is
// not a list.
func readList[T any](v scan.Value, decode func(*T, scan.Value)) list[T] {
	if v[0] != '[' {
		return nil
	}
	var items list[T]
	s := anyList.Scan(v)
	for len(items) < maxItems && s.Next() {
		if e := s.Element(); string(e) != "null" {
			items = append(items, *new(T))
			decode(&items[len(items)-1], e)
		}
	}
	return items
}
