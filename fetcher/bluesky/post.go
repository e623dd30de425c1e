package bluesky

import (
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// record is an app.bsky.feed.post or, if Subject is set, an app.bsky.feed.repost.
type record struct {
	Text      string   `json:"text"`
	CreatedAt string   `json:"createdAt"`
	Langs     []string `json:"langs"`
	Reply     struct {
		Root   strongRef `json:"root"`
		Parent strongRef `json:"parent"`
	} `json:"reply"`
	Facets []facet  `json:"facets"`
	Tags   []string `json:"tags"`
	Embed  embed    `json:"embed"`
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

// sensitiveLabels are the label values that set PossiblySensitive.
var sensitiveLabels = []string{"porn", "sexual", "nudity", "graphic-media"}

func sensitive(labels []label) bool {
	return slices.ContainsFunc(labels, func(l label) bool {
		return !l.Neg && slices.Contains(sensitiveLabels, l.Val)
	})
}

// fill sets the fields of t that come from the record, except those from its embed. It puts
// prefix before the text and shifts the indices by its length.
func (r *record) fill(t *fetcher.Tweet, prefix string, known handles) {
	t.Text = prefix + r.Text
	t.FullText = t.Text
	if len(r.Langs) > 0 {
		t.Lang = r.Langs[0]
	}
	t.PossiblySensitive = sensitive(r.Labels.Values)
	entities(t, r.Text, r.Facets, prefix, known)
	tags(t, r.Tags)
}

// relate sets the ids of the posts to which t replies and which it quotes. It also sets the
// conversation: the thread's first post, or t itself if t is not a reply.
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

// rtPrefix returns the beginning of a repost's text, "RT @handle: ". If handle is "", it uses
// the DID.
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

// handle returns the account's handle, or "" if it is missing or invalid. Servers send
// "handle.invalid" if the account's handle no longer resolves to it.
func (p *profile) handle() string {
	if p.Handle == "handle.invalid" {
		return ""
	}
	return p.Handle
}

// sign sets the author of t from the profile. If the profile lacks the id or the name, sign
// uses that of a, the owner of the timeline.
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
