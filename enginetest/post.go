package enginetest

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// post is what an account published.
type post struct {
	id        uint64
	text      string
	published time.Time // whole milliseconds, as ids carry them
	visible   time.Time
	deleted   time.Time // zero while it stands

	reply, retweet, quote *ref
}

// ref is the other post that a post is about.
type ref struct {
	id, userID, username, text, conversation string
	published                                time.Time
}

// PostOption says what else a post is.
type PostOption func(*post)

// ReplyTo makes the post a reply to t.
func ReplyTo(t fetcher.Tweet) PostOption { return func(po *post) { po.reply = newRef(t) } }

// Quoting makes the post a quote of t.
func Quoting(t fetcher.Tweet) PostOption { return func(po *post) { po.quote = newRef(t) } }

// Retweeting makes the post a retweet of t. Its text is then "RT @author: " and
// the text of t, whatever was given.
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

// Post publishes a text now and returns the post as readers will see it, at
// once or, for PlatformConfig.LateShare of the posts, a little later.
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

// PostAt publishes a text at a moment of the past or the future, to become
// visible at another, but never before it is published: the zero time stands
// for at once. Times before the year 2000 are not allowed.
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
	po := &post{id: p.newID(published), text: text, published: published, visible: visible}
	for _, opt := range opts {
		opt(po)
	}
	// Ids grow with time, so this is nearly always the end.
	at, _ := slices.BinarySearchFunc(a.posts, po.id, func(other *post, id uint64) int { return cmp.Compare(other.id, id) })
	a.posts = slices.Insert(a.posts, at, po)
	p.searches.posts = append(p.searches.posts, filed{po, a})
	return po.tweet(author{a.id, a.name})
}

// year2000 is where a testing/synctest bubble's clock begins.
var year2000 = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// firstEarlyID is below all ids of posts; bogus posts from before the snowflake
// scheme have smaller ones.
const firstEarlyID = 1 << 22

// smallestID gives the smallest id for a moment, as the X platform's scheme has
// it. Before that scheme's epoch in November 2010 ids count steps of 12 ms since
// 2000: in the same order, and all of them below those that
// fetcher.SnowflakeTime reads a time from. It reports false before 2000.
func smallestID(published time.Time) (uint64, bool) {
	id := fetcher.SnowflakeAt(published)
	if _, ok := fetcher.SnowflakeTime(formatID(id)); ok {
		return id, true
	}
	since := published.Sub(year2000).Milliseconds()
	return firstEarlyID + uint64(since)/12, since >= 0
}

// newID gives the next free id for a moment.
func (p *Platform) newID(published time.Time) uint64 {
	id, ok := smallestID(published)
	if !ok {
		panic(fmt.Sprintf("enginetest: published %s is not allowed: want 2000 or later", published))
	}
	free := id
	for next, used := p.nextID[free]; used; next, used = p.nextID[free] {
		free = next
	}
	// The shortcut from id keeps a burst within one millisecond from walking
	// over all its ids for each post.
	p.nextID[id], p.nextID[free] = free+1, free+1
	return free
}

// Delete removes a post from its account's timeline. It panics when the account
// has no such post.
func (p *Platform) Delete(account, id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, po := range p.mustFind(account).posts {
		if formatID(po.id) == id {
			if po.deleted.IsZero() {
				po.deleted = p.cfg.Now()
			}
			return
		}
	}
	panic(fmt.Sprintf("enginetest: account %q has no post %q", account, id))
}

func formatID(id uint64) string { return strconv.FormatUint(id, 10) }

// author is who a page shows as its posts' author.
type author struct{ id, name string }

// host is where the platform's pages for people would be.
const host = "https://social.example"

func (au author) url() string { return host + "/@" + au.name }

// tweet is the post as the port gives it.
func (po *post) tweet(au author) fetcher.Tweet {
	id := formatID(po.id)
	t := fetcher.Tweet{
		ID:             id,
		Text:           po.text,
		FullText:       po.text,
		CreatedAt:      fetcher.FormatTime(po.published),
		Lang:           "en",
		UserID:         au.id,
		Username:       au.name,
		UserName:       au.name,
		ConversationID: id,
		PublishedAt:    po.published,
		Permalink:      au.url() + "/" + id,
		User: &fetcher.User{
			ID: au.id, Username: au.name, Name: au.name,
			CreatedAt: fetcher.FormatTime(year2000),
		},
	}
	if r := po.reply; r != nil {
		t.InReplyToStatusID, t.InReplyToUserID = r.id, r.userID
		t.ConversationID = r.conversation
	}
	if r := po.retweet; r != nil {
		t.IsRetweet, t.RetweetedStatusID = true, r.id
	}
	if r := po.quote; r != nil {
		t.IsQuoteStatus, t.QuotedStatusID = true, r.id
	}
	return t
}

// shown reports whether readers see the post.
func (po *post) shown(now time.Time) bool {
	return po.deleted.IsZero() && !po.visible.After(now)
}

// Truth is a post that the platform really showed.
type Truth struct {
	// Account is the handle the account began with: it outlives a rename.
	Account     string
	ID          string
	Text        string
	PublishedAt time.Time // to the millisecond, UTC
	VisibleAt   time.Time // since when readers could see it
	DeletedAt   time.Time // zero while it stands
}

// Posted gives the posts that have become visible until now, by that time and
// then by id: not those still to come, deleted before they appeared, or of an
// account that has been closed since. It is a record of its own: faults in the
// answers do not touch it.
func (p *Platform) Posted() []Truth {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.cfg.Now()
	type entry struct {
		Truth
		id uint64
	}
	var shown []entry
	for _, a := range p.accounts {
		for _, po := range a.posts {
			switch {
			case po.visible.After(now),
				!po.deleted.IsZero() && !po.deleted.After(po.visible),
				a.closed() && !po.visible.Before(a.closedAt):
				continue
			}
			shown = append(shown, entry{Truth{a.first, formatID(po.id), po.text, po.published, po.visible, po.deleted}, po.id})
		}
	}
	slices.SortFunc(shown, func(a, b entry) int {
		if c := a.VisibleAt.Compare(b.VisibleAt); c != 0 {
			return c
		}
		return cmp.Compare(a.id, b.id)
	})
	truths := make([]Truth, len(shown))
	for i := range shown {
		truths[i] = shown[i].Truth
	}
	return truths
}
