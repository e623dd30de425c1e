package recorder

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"hash"
	"slices"
	"strings"

	"github.com/streamwatch/streamwatch/detect/internal/accounts"
	"github.com/streamwatch/streamwatch/detect/internal/poll"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/monitor"
)

// hider replaces strings by pseudonyms. A plain one leaves them as they are.
type hider struct {
	plain bool
	mac   hash.Hash
	known map[string]string
}

func newHider(plain bool) *hider {
	key := make([]byte, 32)
	rand.Read(key) // never fails
	return &hider{plain: plain, mac: hmac.New(sha256.New, key), known: map[string]string{}}
}

var letters = base32.NewEncoding("abcdefghijkmnpqrstuvwxyz23456789").WithPadding(base32.NoPadding)

// text returns the pseudonym of a string, "" for "". A string above poll.MaxIDLength keeps its
// length: posts with such ids are dropped.
func (h *hider) text(s string) string {
	if h.plain || s == "" {
		return s
	}
	if p, ok := h.known[s]; ok {
		return p
	}
	h.mac.Reset()
	h.mac.Write([]byte(s))
	p := "x" + letters.EncodeToString(h.mac.Sum(nil)[:10])
	if len(s) > poll.MaxIDLength {
		p += strings.Repeat("x", len(s)-len(p))
	}
	h.known[strings.Clone(s)] = p
	return p
}

// name returns the pseudonym of a handle, whatever its case.
func (h *hider) name(s string) string {
	if h.plain {
		return s
	}
	return h.text(monitor.Key(s))
}

// nameOf returns the pseudonym of the name of a record's target. Of a query it is that of the
// key, so that name and key, as dumped, belong together: see queries.Target.
func (h *hider) nameOf(r *poll.Record) string {
	if h.plain || r.Kind == poll.Accounts {
		return h.name(r.Name)
	}
	return h.text(r.Key)
}

// key returns the pseudonym of a target's name in the journal.
func (h *hider) key(kind poll.Kind, key string) string {
	switch {
	case h.plain:
		return key
	case kind == poll.Queries:
		return queryPrefix + h.text(key)
	}
	return accounts.Key(h.text(accounts.NameOf(key)))
}

// keyOf is key for a target whose kind only its name tells.
func (h *hider) keyOf(key string) string {
	if strings.HasPrefix(key, queryPrefix) {
		return h.key(poll.Queries, key)
	}
	return h.key(poll.Accounts, key)
}

const queryPrefix = "query:"

// gaps returns copies of gaps, with pseudonyms.
func (h *hider) gaps(kind poll.Kind, gaps []poll.Gap) []poll.Gap {
	var out []poll.Gap
	for _, g := range gaps {
		out = append(out, *h.gap(kind, &g))
	}
	return out
}

func (h *hider) gap(kind poll.Kind, g *poll.Gap) *poll.Gap {
	if g == nil {
		return nil
	}
	c := *g
	c.Target, c.Resume = h.key(kind, g.Target), h.text(g.Resume)
	c.From, c.To, c.FoundAt, c.FilledAt = stamp(g.From), stamp(g.To), stamp(g.FoundAt), stamp(g.FilledAt)
	return &c
}

// state returns a copy of a state, with pseudonyms.
func (h *hider) state(kind poll.Kind, s poll.State) poll.State {
	s.Since, s.Trouble.Due, s.Trouble.First = stamp(s.Since), stamp(s.Trouble.Due), stamp(s.Trouble.First)
	s.UserID, s.Gaps = h.text(s.UserID), h.gaps(kind, s.Gaps)
	s.Readers = h.readers(s.Readers)
	if s.Search != nil {
		is := *s.Search
		is.Shown = slices.Clone(is.Shown)
		for i, id := range is.Shown {
			is.Shown[i] = h.text(id)
		}
		s.Search = &is
	}
	return s
}

func (h *hider) recalled(r *poll.Recalled) *poll.Recalled {
	if r == nil {
		return nil
	}
	c := &poll.Recalled{SetState: r.SetState}
	c.Since = stamp(c.Since)
	for _, k := range r.Known {
		c.Known = append(c.Known, poll.Recall{ID: h.text(k.ID), Old: k.Old})
	}
	return c
}

func (h *hider) readers(all []poll.ReaderState) []poll.ReaderState {
	all = slices.Clone(all)
	for i := range all {
		r := &all[i]
		r.Source.Owner, r.Source.Name = h.text(r.Source.Owner), h.text(r.Source.Name)
		r.Since, r.From, r.Read = stamp(r.Since), stamp(r.From), stamp(r.Read)
	}
	return all
}

// tweet returns what decisions depend on of a post, with pseudonyms; the whole post if h is
// plain.
func (h *hider) tweet(t *fetcher.Tweet) fetcher.Tweet {
	if h.plain {
		return *t
	}
	return fetcher.Tweet{ID: h.text(t.ID), Text: h.text(t.Text), FullText: h.text(t.FullText), Username: h.name(t.Username),
		UserID: h.text(t.UserID), UserName: h.text(t.UserName), InReplyToStatusID: h.text(t.InReplyToStatusID),
		IsQuoteStatus: t.IsQuoteStatus, IsRetweet: t.IsRetweet,
		PublishedAt: t.PublishedAt, Permalink: h.text(t.Permalink), Pinned: t.Pinned}
}
