package bluesky

import (
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// record is an app.bsky.feed.post, or with Subject an app.bsky.feed.repost.
type record struct {
	Text      string   `json:"text"`
	CreatedAt string   `json:"createdAt"`
	Langs     []string `json:"langs"`
	Reply     struct {
		Root   strongRef `json:"root"`
		Parent strongRef `json:"parent"`
	} `json:"reply"`
	Facets []facet `json:"facets"`
	Embed  embed   `json:"embed"`
	Labels struct {
		Values []label `json:"values"`
	} `json:"labels"`
	Subject strongRef `json:"subject"`
}

type strongRef struct {
	URI string `json:"uri"`
}

type label struct {
	Val string `json:"val"`
	Neg bool   `json:"neg"` // withdraws an earlier label
}

// sensitiveLabels are the label values that call for a warning.
var sensitiveLabels = []string{"porn", "sexual", "nudity", "graphic-media"}

func sensitive(labels []label) bool {
	return slices.ContainsFunc(labels, func(l label) bool {
		return !l.Neg && slices.Contains(sensitiveLabels, l.Val)
	})
}

// fill sets what the record itself says, without its embed. The prefix goes before
// the text and shifts the indices.
func (r *record) fill(t *fetcher.Tweet, prefix string) {
	t.Text = prefix + r.Text
	t.FullText = t.Text
	if len(r.Langs) > 0 {
		t.Lang = r.Langs[0]
	}
	t.PossiblySensitive = sensitive(r.Labels.Values)
	entities(t, r.Text, r.Facets, prefix)
}

// relate sets which posts the post replies to and quotes. One that is not a reply
// begins a conversation of its own.
func (r *record) relate(t *fetcher.Tweet, uri string) {
	t.ConversationID = uri
	if parent, ok := parseURI(r.Reply.Parent.URI); ok {
		t.InReplyToStatusID = r.Reply.Parent.URI
		t.InReplyToUserID = parent.did
		t.ConversationID = r.Reply.Parent.URI
		if _, ok := parseURI(r.Reply.Root.URI); ok {
			t.ConversationID = r.Reply.Root.URI
		}
	}
	if quoted := r.Embed.quoted(); quoted != "" {
		t.QuotedStatusID, t.IsQuoteStatus = quoted, true
	}
}

// rtPrefix returns the beginning of a repost's text.
func rtPrefix(handle string, original atURI) string {
	if handle == "" {
		handle = original.did
	}
	return "RT @" + handle + ": "
}

// profile is an app.bsky.actor.defs#profileViewBasic.
type profile struct {
	DID          string `json:"did"`
	Handle       string `json:"handle"`
	DisplayName  string `json:"displayName"`
	Avatar       string `json:"avatar"`
	CreatedAt    string `json:"createdAt"`
	Verification struct {
		VerifiedStatus        string `json:"verifiedStatus"`
		TrustedVerifierStatus string `json:"trustedVerifierStatus"`
	} `json:"verification"`
}

// handle returns the account's handle, "" when it is missing or does not lead to the
// account any more, for which servers send handle.invalid.
func (p *profile) handle() string {
	if p.Handle == "handle.invalid" {
		return ""
	}
	return p.Handle
}

// sign sets the author of an item in the timeline of a: a's id and name where the
// profile has none.
func (p *profile) sign(t *fetcher.Tweet, a account) {
	t.UserID, t.Username, t.UserName = p.DID, p.handle(), p.DisplayName
	if t.UserID == "" {
		t.UserID = a.did
	}
	if t.Username == "" {
		t.Username = a.name
	}
	if p.DID != "" {
		t.User = p.user(t.Username)
	}
}

func (p *profile) user(name string) *fetcher.User {
	u := &fetcher.User{
		ID:       p.DID,
		Username: name,
		Name:     p.DisplayName,
		Verified: p.Verification.VerifiedStatus == "valid" || p.Verification.TrustedVerifierStatus == "valid",
	}
	if avatar := webURL(p.Avatar); avatar != "" {
		u.ProfileImageURL = &avatar
	}
	if at, ok := parseTime(p.CreatedAt); ok {
		u.CreatedAt = fetcher.FormatTime(at)
		datetime := at.Format(time.RFC3339Nano)
		u.CreatedAtDatetime = &datetime
	}
	return u
}
