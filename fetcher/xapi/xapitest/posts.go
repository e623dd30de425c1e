package xapitest

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// account is one of the Server's.
type account struct {
	id, username string
	protected    bool
	posts        []*post // oldest first, deleted ones left out
}

// post is one of the Server's, in one version: an edit is another post.
type post struct {
	id, text  string
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
	if s.accounts[username] != nil {
		panic(fmt.Sprintf("xapitest: there is an account %q", username))
	}
	a := &account{id: strconv.Itoa(1000 + len(s.accounts)), username: username}
	s.accounts[username] = a
	return a.id
}

// SetProtected protects an account, so that its posts are hidden, or ends that.
func (s *Server) SetProtected(username string, on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.account(username).protected = on
}

// Post publishes a post of an account now, and returns its id.
func (s *Server) Post(username, text string) (id string) {
	return s.publish(username, text, "", "")
}

// Reply publishes an answer to a post.
func (s *Server) Reply(username, to, text string) (id string) {
	return s.publish(username, text, to, "replied_to")
}

// Quote publishes a post that quotes another.
func (s *Server) Quote(username, of, text string) (id string) {
	return s.publish(username, text, of, "quoted")
}

// Repost publishes a repost of a post.
func (s *Server) Repost(username, of string) (id string) {
	return s.publish(username, "", of, "retweeted")
}

// Edit publishes another version of a post, which has an id of its own.
func (s *Server) Edit(id, text string) (newID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.mustFind(id)
	p := &post{id: s.newID(), text: text, author: old.author, at: s.cfg.Now(), ref: old.ref, relation: old.relation}
	p.history = append(slices.Clone(old.history), p.id)
	old.edited = true
	s.add(p)
	return p.id
}

// Delete deletes a post.
func (s *Server) Delete(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.mustFind(id)
	p.deletedAt = s.cfg.Now()
	p.author.posts = slices.DeleteFunc(p.author.posts, func(o *post) bool { return o == p })
	s.Streams.deleted(p)
}

func (s *Server) publish(username, text, ref, relation string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := &post{id: s.newID(), text: text, author: s.account(username), at: s.cfg.Now(), relation: relation}
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

// add puts a post on its timeline and on the streams. s.mu is held.
func (s *Server) add(p *post) {
	s.posts[p.id] = p
	p.author.posts = append(p.author.posts, p)
	if !p.author.protected {
		s.Streams.posted(p)
	}
}

// newID gives the id of a post of now. s.mu is held.
func (s *Server) newID() string {
	s.lastID = max(s.lastID+1, fetcher.SnowflakeAt(s.cfg.Now()))
	return strconv.FormatUint(s.lastID, 10)
}

func (s *Server) account(username string) *account {
	a := s.accounts[username]
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

// times are as X writes them.
const timeLayout = "2006-01-02T15:04:05.000Z"

// tweet is a post in the names of before August 2026, which streams have.
func (p *post) tweet() object {
	o := object{
		"id": p.id, "text": p.text, "author_id": p.author.id, "created_at": p.at.UTC().Format(timeLayout), "lang": "en",
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

// root is the post that a conversation began with.
func (p *post) root() *post {
	for p.relation == "replied_to" {
		p = p.ref
	}
	return p
}

// user is an account in the names of before August 2026.
func (a *account) user() object {
	return object{"id": a.id, "username": a.username, "name": a.username, "protected": a.protected, "verified": false,
		"public_metrics": object{"followers_count": 1, "following_count": 1, "listed_count": 0, "tweet_count": len(a.posts), "tweet_count_str": strconv.Itoa(len(a.posts))}}
}
