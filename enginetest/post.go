package enginetest

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/enginetest/internal/social"
	"github.com/streamwatch/streamwatch/fetcher"
)

// post is what an account published.
type post struct {
	ID        uint64
	text      string
	edited    string    // its text now, "" if it was never edited
	published time.Time // whole milliseconds, as ids carry them
	visible   time.Time
	deleted   time.Time // zero until it is deleted

	reply, retweet, quote *ref
}

// ref is the other post that a post is about.
type ref struct {
	ID, userID, username, text, conversation string
	published                                time.Time
}

// PostOption says what else a post is.
type PostOption func(*post)

// ReplyTo makes the post a reply to t.
func ReplyTo(t fetcher.Tweet) PostOption { return func(po *post) { po.reply = newRef(t) } }

// Quoting makes the post a quote of t.
func Quoting(t fetcher.Tweet) PostOption { return func(po *post) { po.quote = newRef(t) } }

// Retweeting makes the post a retweet of t. Its text is then "RT @author: " and the text of t; the
// text passed to Post is ignored.
func Retweeting(t fetcher.Tweet) PostOption {
	return func(po *post) {
		po.retweet = newRef(t)
		po.text = "RT @" + t.Username + ": " + t.Text
	}
}

func newRef(t fetcher.Tweet) *ref {
	conversation := t.ConversationID
	if conversation == "" {
		conversation = t.ID
	}
	return &ref{t.ID, t.UserID, t.Username, t.Text, conversation, t.PublishedAt}
}

// Post publishes a text now and returns the post. Readers see it immediately or, for
// PlatformConfig.LateShare of the posts, a little later.
func (p *Platform) Post(account, text string, opts ...PostOption) fetcher.Tweet {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.postNow(p.mustFind(account), text, opts)
}

func (p *Platform) postNow(a *account, text string, opts []PostOption) fetcher.Tweet {
	now := p.cfg.Now()
	visible := now
	if p.cfg.LateShare > 0 && p.lateness.Float64() < p.cfg.LateShare {
		visible = now.Add(time.Duration(p.lateness.Int64N(int64(p.cfg.LateUpTo))))
	}
	return p.add(a, text, now, visible, opts)
}

// PostAt publishes a text at a time in the past or the future. The post becomes visible at the time
// visible, but not before it is published; zero means when it is published. Times before the year
// 2000 are not allowed.
func (p *Platform) PostAt(account, text string, published, visible time.Time, opts ...PostOption) fetcher.Tweet {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.add(p.mustFind(account), text, published, visible, opts)
}

func (p *Platform) add(a *account, text string, published, visible time.Time, opts []PostOption) fetcher.Tweet {
	published = published.Truncate(time.Millisecond).UTC()
	if visible.Before(published) {
		visible = published
	}
	po := &post{ID: p.newID(published), text: text, published: published, visible: visible}
	for _, opt := range opts {
		opt(po)
	}
	// Ids grow with time, so this is nearly always the end.
	at, _ := slices.BinarySearchFunc(a.posts, po.ID, func(other *post, id uint64) int { return cmp.Compare(other.ID, id) })
	a.posts = slices.Insert(a.posts, at, po)
	p.searches.posts = append(p.searches.posts, filed{po, a})
	p.streams.announce(fetcher.SignalPost, po, a)
	return po.tweet(social.Author{ID: a.ID, Name: a.Name})
}

// newID gives the next free id for a moment.
func (p *Platform) newID(published time.Time) uint64 {
	id, ok := social.SmallestID(published)
	if !ok {
		panic(fmt.Sprintf("enginetest: published %s is not allowed: want 2000 or later", published))
	}
	free := id
	for next, used := p.nextID[free]; used; next, used = p.nextID[free] {
		free = next
	}
	// The shortcut from id saves later posts of the same millisecond from trying every id that is
	// in use.
	p.nextID[id], p.nextID[free] = free+1, free+1
	return free
}

// Edit replaces a post's text. Readers see the new text from now on; Posted keeps the first. Edit
// panics if the account has no such post, or the text is empty.
func (p *Platform) Edit(account, id, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if text == "" {
		panic("enginetest: an empty text is not allowed: want what the post says from now on")
	}
	a := p.mustFind(account)
	po := a.mustFind(id)
	po.edited = text
	if !po.visible.After(p.cfg.Now()) {
		p.streams.announce(fetcher.SignalEdit, po, a)
	}
}

// Delete removes a post from its account's timeline. It panics if the account has no such post.
func (p *Platform) Delete(account, id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	a := p.mustFind(account)
	if po := a.mustFind(id); po.deleted.IsZero() {
		po.deleted = p.cfg.Now()
		p.streams.announce(fetcher.SignalDelete, po, a)
	}
}

// mustFind finds a post for a method that acts on it.
func (a *account) mustFind(id string) *post {
	for _, po := range a.posts {
		if social.FormatID(po.ID) == id {
			return po
		}
	}
	panic(fmt.Sprintf("enginetest: account %q has no post %q", a.Name, id))
}

// tweet is the post as the port gives it.
func (po *post) tweet(au social.Author) fetcher.Tweet {
	t := au.Post(po.ID, po.text, po.published)
	if r := po.reply; r != nil {
		t.InReplyToStatusID, t.InReplyToUserID = r.ID, r.userID
		t.ConversationID = r.conversation
	}
	if r := po.retweet; r != nil {
		t.IsRetweet, t.RetweetedStatusID = true, r.ID
	}
	if r := po.quote; r != nil {
		t.IsQuoteStatus, t.QuotedStatusID = true, r.ID
	}
	return t
}

// shown reports whether readers see the post.
func (po *post) shown(now time.Time) bool {
	return po.deleted.IsZero() && !po.visible.After(now)
}

// appeared reports whether the post becomes visible before it is deleted.
func (po *post) appeared() bool { return po.deleted.IsZero() || po.deleted.After(po.visible) }

// hides reports whether the account is closed and was closed before the post became visible.
func (a *account) hides(po *post) bool { return a.closed() && !po.visible.Before(a.closedAt) }

// current returns the post with its present text. A later edit does not change the result.
func (po *post) current() *post {
	if po.edited == "" {
		return po
	}
	now := *po
	now.text = now.edited
	return &now
}

// Truth is a post that the platform really showed.
type Truth struct {
	// Account is the first handle of the account. A rename does not change it.
	Account     string
	ID          string
	Text        string
	PublishedAt time.Time // to the millisecond, UTC
	VisibleAt   time.Time // since when readers could see it
	DeletedAt   time.Time // zero until it is deleted
}

// Posted returns the posts that have become visible until now, ordered by that time and then by id.
// It leaves out posts that were deleted before they became visible, and posts of a closed account
// that became visible while it was closed. Faults in the answers do not change it.
func (p *Platform) Posted() []Truth {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.cfg.Now()
	type entry struct {
		Truth
		ID uint64
	}
	var shown []entry
	for _, a := range p.accounts {
		for _, po := range a.posts {
			if po.visible.After(now) || !po.appeared() || a.hides(po) {
				continue
			}
			shown = append(shown, entry{Truth{a.first, social.FormatID(po.ID), po.text, po.published, po.visible, po.deleted}, po.ID})
		}
	}
	slices.SortFunc(shown, func(a, b entry) int {
		if c := a.VisibleAt.Compare(b.VisibleAt); c != 0 {
			return c
		}
		return cmp.Compare(a.ID, b.ID)
	})
	truths := make([]Truth, len(shown))
	for i := range shown {
		truths[i] = shown[i].Truth
	}
	return truths
}
