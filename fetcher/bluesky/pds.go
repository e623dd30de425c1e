package bluesky

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/scan"
	"github.com/streamwatch/streamwatch/fetcher/upstream"
)

// records reads one page from a PDS. It merges a part of each collection.
func (f *Fetcher) records(ctx context.Context, a account, q fetcher.TimelineQuery) (fetcher.Page, error) {
	at, err := parseCursor(q.Cursor)
	if err != nil {
		return fetcher.Page{}, err
	}
	var paths [len(collections)]string
	for i, collection := range collections {
		params := url.Values{"repo": {a.did}, "collection": {collection}, "limit": {f.limit(q)}}
		if at[i].cursor != "" {
			params.Set("cursor", at[i].cursor)
		}
		paths[i] = xrpcPath("com.atproto.repo.listRecords", params)
	}
	answers, kept, err := f.list(ctx, at, paths, f.pages.Known(paths[0], q))
	defer answers.release()
	if err != nil {
		return fetcher.Page{}, err
	}
	if kept != nil {
		return f.pages.Unchanged(kept, answers[:]...), nil
	}
	page := fetcher.Page{UserID: a.did}
	var parts [len(collections)]part
	now := f.now()
	for i, resp := range answers {
		parts[i].at = at[i]
		if resp == nil {
			continue
		}
		if err := parts[i].decode(resp.Body); err != nil {
			return fetcher.Page{}, err
		}
		now = f.answeredAt(resp)
		page.ServerTime = resp.ServerTime
		if resp.RateLimit.Known {
			page.RateLimit = resp.RateLimit
		}
	}
	listed, next := merge(parts)
	page.Next = formatCursor(next)
	f.fillPage(&page, listed, a, now, q.Seen)
	if q.Cursor == "" { // on the first page each collection has an answer
		f.pages.Keep(paths[0], &page, answers[:]...)
	}
	return page, nil
}

// lists has the answer for each collection, or nil for a collection that has ended.
type lists [len(collections)]*upstream.Response

func (l *lists) release() {
	for _, resp := range l {
		if resp != nil {
			resp.Release()
		}
	}
}

// list requests a part of each collection. If all answers are the same as those of kept, it
// returns kept. Otherwise it returns a nil *Kept, and repeats a request that was answered 304,
// because each answer then needs a body.
func (f *Fetcher) list(ctx context.Context, at positions, paths [len(collections)]string, kept *upstream.Kept) (lists, *upstream.Kept, error) {
	var got lists
	var err error
	for i, path := range paths {
		if at[i].end {
			continue
		}
		if got[i], err = f.get(ctx, path, kept.Header(i)); err != nil {
			return got, nil, err
		}
		if !kept.Same(i, got[i]) {
			kept = nil // ask for the rest without conditions
		}
	}
	if kept != nil {
		return got, kept, nil
	}
	for i, path := range paths {
		if got[i] == nil || !got[i].NotModified {
			continue
		}
		if got[i], err = f.get(ctx, path, nil); err != nil {
			return got, nil, err
		}
	}
	return got, nil, nil
}

// fillPage adds the listed records to page. It counts the records that seen reports as
// skipped, and decodes the others.
func (f *Fetcher) fillPage(page *fetcher.Page, listed []listedRecord, a account, now time.Time, seen func(id string) bool) {
	blobs := blobsOf(f.pds, a.did)
	ahead := tidAt(now.Add(clockSlack))
	var reach fetcher.Reach
	for i := range listed {
		l := &listed[i]
		if _, ok := parseURI(l.uri); ok && seen != nil && seen(l.uri) {
			l.known = true
			page.Skipped++
		}
	}
	page.Tweets = make([]fetcher.Tweet, 0, len(listed)-page.Skipped)
	for i := range listed {
		l := &listed[i]
		u, ok := parseURI(l.uri)
		if !ok {
			page.Tweets = append(page.Tweets, fetcher.Tweet{})
			continue
		}
		at := published(u.key, "", string(l.createdAt), now)
		pinned := u.key > ahead
		if !pinned {
			reach.Add(at)
		}
		if l.known {
			continue
		}
		t := l.tweet(u, a, blobs)
		t.Pinned = pinned
		stamp(&t, l.uri, at)
		page.Tweets = append(page.Tweets, t)
	}
	page.OldestAt = reach.Time()
}

// blobsOf returns the address of an account's blobs on a PDS, without the content id at its end.
func blobsOf(pds, did string) string {
	return pds + "/xrpc/com.atproto.sync.getBlob?did=" + url.QueryEscape(did) + "&cid="
}

// listedRecord is an element of a listRecords answer.
type listedRecord struct {
	key       string // its sort key within the collection
	uri       string
	createdAt []byte // shares the answer's memory
	raw       []byte // the whole element; shares the answer's memory
	known     bool   // TimelineQuery.Seen reports it
}

func (l *listedRecord) tweet(u atURI, a account, blobs string) fetcher.Tweet {
	var value struct {
		Value record `json:"value"`
	}
	_ = unmarshal(l.raw, &value)
	return value.Value.tweet(l.uri, u, a, blobs)
}

// tweet converts a bare record to a Tweet; uri is the record's address. For a repost, the Tweet
// has only the address of the reposted post. blobs is the prefix of the addresses of the
// account's blobs. If blobs is "", the Tweet's media have no addresses.
func (r *record) tweet(uri string, u atURI, a account, blobs string) fetcher.Tweet {
	t := fetcher.Tweet{UserID: a.did, Username: a.name}
	if u.collection == repostCollection {
		subject, _ := parseURI(r.Subject.URI)
		t.IsRetweet, t.RetweetedStatusID = true, r.Subject.URI
		t.Text = rtPrefix("", subject) + r.Subject.URI
		t.FullText = t.Text
		t.Permalink = permalink(subject, "")
		return t
	}
	handle := a.name
	if isDID(handle) {
		handle = ""
	}
	t.Permalink = permalink(u, handle)
	r.relate(&t, uri)
	r.fill(&t, "", handles{a.did: handle})
	r.Embed.fill(&t, blobs)
	return t
}

// part is one collection's share of a page.
type part struct {
	at      position
	next    string // the server's cursor for the next part; "" at the end
	records []listedRecord
}

// topKey sorts above every record key.
const topKey = "\x7f"

// recordPage is the plan to scan an answer of listRecords.
var recordPage = scan.NewPlan("records", []string{"cursor"}, []string{"uri", "value.createdAt"})

// decode reads an answer of listRecords. An element without a valid URI gets the key of
// the element before it.
func (p *part) decode(body []byte) error {
	var room [defaultPageSize]listedRecord // saves allocations for most pages
	list := room[:0]
	s := recordPage.Scan(body)
	for s.Next() {
		if len(list) == maxItems {
			return tooMany("records")
		}
		list = append(list, listedRecord{
			uri:       string(textOf(s.Value(0))),
			createdAt: textOf(s.Value(1)),
			raw:       s.Element(),
		})
	}
	n, err := listLen(&s, "records")
	if err != nil {
		return err
	}
	p.records = slices.Clone(list[len(list)-n:])
	key := topKey
	for i := range p.records {
		r := &p.records[i]
		if u, ok := parseURI(r.uri); ok {
			key = u.key
		}
		r.key = key
	}
	// The reference server sends a cursor with every answer that has records, even with the
	// last one. Only an empty answer marks the end.
	if cursor := string(textOf(s.Top(0))); len(p.records) > 0 && cursor != p.at.cursor {
		p.next = cursor
	}
	return nil
}

// merge returns the records for this page, newest key first, and each collection's position for
// the next page. It leaves out a record if another collection's next part may have newer records.
// Keys are compared byte by byte, as servers do, which sorts timestamp identifiers by time.
func merge(parts [len(collections)]part) ([]listedRecord, positions) {
	cut := "" // the parts have all records with this key or a greater one
	for i := range parts {
		if p := &parts[i]; p.next != "" {
			cut = max(cut, slices.MinFunc(p.records, byKey).key)
		}
	}
	merged := make([]listedRecord, 0, len(parts[0].records)+len(parts[1].records))
	var next positions
	for i := range parts {
		p := &parts[i]
		left := false
		for _, r := range p.records {
			switch {
			case p.at.below != "" && r.key >= p.at.below: // was on an earlier page
			case r.key >= cut:
				merged = append(merged, r)
			default:
				left = true
			}
		}
		switch {
		case left:
			below := cut
			if p.at.below != "" {
				below = min(below, p.at.below)
			}
			next[i] = position{cursor: p.at.cursor, below: below}
		default:
			next[i] = position{cursor: p.next, end: p.next == ""}
		}
	}
	slices.SortStableFunc(merged, func(a, b listedRecord) int { return byKey(b, a) })
	return merged, next
}

func byKey(a, b listedRecord) int { return cmp.Compare(a.key, b.key) }
