package xapitest

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// account is an account of the Server.
type account struct {
	id, username         string
	protected, suspended bool
	posts                []*post // oldest first, without deleted posts and old versions
}

// post is one version of a post. An edit makes another post.
type post struct {
	number    uint64 // the id
	id, text  string
	long      string // the whole text, if it is longer than text
	photo     string // the address of a picture; "" for none
	author    *account
	at        time.Time
	ref       *post  // the post that it refers to
	relation  string // retweeted, quoted or replied_to
	history   []string
	edited    bool // there is a newer version
	deletedAt time.Time
}

// AddAccount adds an account and returns its id.
func (s *Server) AddAccount(username string) (id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := strings.ToLower(username)
	if s.accounts[key] != nil {
		panic(fmt.Sprintf("xapitest: there is an account %q", username))
	}
	a := &account{id: strconv.Itoa(1000 + len(s.accounts)), username: username}
	s.accounts[key], s.byID[a.id] = a, a
	return a.id
}

// AddList adds a list with these accounts and returns its id.
func (s *Server) AddList(usernames ...string) (id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id = strconv.Itoa(5000 + len(s.lists))
	members := make([]*account, len(usernames))
	for i, name := range usernames {
		members[i] = s.account(name)
	}
	s.lists[id] = members
	return id
}

// SetProtected sets whether an account is protected. Posts of a protected account are hidden.
func (s *Server) SetProtected(username string, on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.account(username).protected = on
}

// SetSuspended sets whether an account is suspended.
func (s *Server) SetSuspended(username string, on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.account(username).suspended = on
}

// Post is a post to publish.
type Post struct {
	Text string
	// Long is the whole text of a post that is longer than Text.
	Long string
	// Photo is the address of a picture.
	Photo string
	// At is the publication time, to the millisecond, and may be in the past. The post is
	// visible immediately, at its place by time. Defaults to the present.
	At time.Time
}

// Post publishes a post of an account now, and returns its id.
func (s *Server) Post(username, text string) (id string) {
	return s.publish(username, Post{Text: text}, "", "")
}

// Publish publishes a post of an account.
func (s *Server) Publish(username string, p Post) (id string) {
	return s.publish(username, p, "", "")
}

// Reply publishes an answer to a post.
func (s *Server) Reply(username, to, text string) (id string) {
	return s.publish(username, Post{Text: text}, to, "replied_to")
}

// Quote publishes a post that quotes another.
func (s *Server) Quote(username, of, text string) (id string) {
	return s.publish(username, Post{Text: text}, of, "quoted")
}

// Repost publishes a repost of a post.
func (s *Server) Repost(username, of string) (id string) {
	return s.publish(username, Post{}, of, "retweeted")
}

// Edit publishes a new version of a post and returns the new version's id.
func (s *Server) Edit(id, text string) (newID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.mustFind(id)
	p := s.make(old.author, Post{Text: text, Photo: old.photo})
	p.ref, p.relation = old.ref, old.relation
	p.history = append(slices.Clone(old.history), p.id)
	old.edited = true
	s.hide(old)
	s.add(p)
	return p.id
}

// Delete deletes a post.
func (s *Server) Delete(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.mustFind(id)
	p.deletedAt = s.cfg.Now()
	s.hide(p)
	s.Streams.deleted(p)
}

func (s *Server) publish(username string, what Post, ref, relation string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.make(s.account(username), what)
	p.relation = relation
	p.history = []string{p.id}
	if ref != "" {
		p.ref = s.mustFind(ref)
	}
	if relation == "retweeted" {
		p.text = "RT @" + p.ref.author.username + ": " + p.ref.text
		if r := []rune(p.text); len(r) > 140 {
			p.text = string(r[:139]) + "…"
		}
	}
	s.add(p)
	return p.id
}

// make creates a post that is not visible yet. The caller holds s.mu.
func (s *Server) make(a *account, what Post) *post {
	at := what.At
	if at.IsZero() {
		at = s.cfg.Now()
	}
	ms := at.UnixMilli()
	number := fetcher.SnowflakeAt(at) + s.issued[ms]
	s.issued[ms]++
	return &post{number: number, id: strconv.FormatUint(number, 10), text: what.Text, long: what.Long, photo: what.Photo, author: a, at: at}
}

// add adds a post to its timeline and sends it to the streams. The caller holds s.mu.
func (s *Server) add(p *post) {
	s.posts[p.id] = p
	p.author.posts, s.all = insert(p.author.posts, p), insert(s.all, p)
	if !p.author.protected {
		s.Streams.posted(p)
	}
}

// hide removes a post from timelines and searches. The caller holds s.mu.
func (s *Server) hide(p *post) {
	is := func(o *post) bool { return o == p }
	p.author.posts, s.all = slices.DeleteFunc(p.author.posts, is), slices.DeleteFunc(s.all, is)
}

// insert adds a post to a list that is sorted by id.
func insert(posts []*post, p *post) []*post {
	i, _ := slices.BinarySearchFunc(posts, p, byNumber)
	return slices.Insert(posts, i, p)
}

func byNumber(a, b *post) int { return cmp.Compare(a.number, b.number) }

func (s *Server) account(username string) *account {
	a := s.accounts[strings.ToLower(username)]
	if a == nil {
		panic(fmt.Sprintf("xapitest: no account %q", username))
	}
	return a
}

func (s *Server) mustFind(id string) *post {
	p := s.posts[id]
	if p == nil {
		panic(fmt.Sprintf("xapitest: no post %q", id))
	}
	return p
}

// object is a JSON object.
type object = map[string]any

// timeLayout is the format of times in answers.
const timeLayout = "2006-01-02T15:04:05.000Z"

// escape escapes a text as X does in answers and on streams.
var escape = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace

// tweet returns a post with the field names of before August 2026, as streams send it.
func (p *post) tweet() object {
	o := object{
		"id": p.id, "text": escape(p.text), "author_id": p.author.id, "created_at": p.at.UTC().Format(timeLayout), "lang": "en",
		"edit_history_tweet_ids": p.history, "conversation_id": p.root().id,
		"edit_controls":  object{"edits_remaining": 6 - len(p.history), "is_edit_eligible": true, "editable_until": p.at.Add(time.Hour).UTC().Format(timeLayout)},
		"public_metrics": object{"retweet_count": 0, "retweet_count_str": "0", "reply_count": 0, "like_count": 0, "quote_count": 0},
	}
	if p.ref != nil {
		o["referenced_tweets"] = []object{{"type": p.relation, "id": p.ref.id}}
		if p.relation == "replied_to" {
			o["in_reply_to_user_id"] = p.ref.author.id
		}
	}
	return o
}

// root returns the first post of the conversation.
func (p *post) root() *post {
	for p.relation == "replied_to" {
		p = p.ref
	}
	return p
}

// user returns an account with the field names of before August 2026.
func (a *account) user() object {
	return object{"id": a.id, "username": a.username, "name": a.username, "protected": a.protected, "verified": false,
		"public_metrics": object{"followers_count": 1, "following_count": 1, "listed_count": 0, "tweet_count": len(a.posts), "tweet_count_str": strconv.Itoa(len(a.posts))}}
}
