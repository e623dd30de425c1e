package query

import (
	"slices"
	"strings"
	"sync"

	"github.com/streamwatch/streamwatch/fetcher"
)

// Set finds the programs, among many, that match a post. It splits the post into words once. It
// indexes a program by something that the program requires: a word, a tag, a mention, an author,
// a word of a link or the id of a related post. It tries a program only on posts that have this.
// Programs that require none of these, such as "place_country:GB", are tried on every post.
//
// Its methods are safe for concurrent use. Match uses the programs that are in the set when it is
// called.
type Set struct {
	mu     sync.RWMutex
	ids    map[string]int32
	slots  []member
	free   []int32
	lists  map[uint64][]int32 // key → slots
	always []int32
	used   [keyKinds]int // number of keys of each kind
	added  uint64
}

// member is a program of a Set.
type member struct {
	id      string
	program *Program // nil in a free slot
	keys    []key
	order   uint64 // number of the Add call
}

// hit is a program that a post matches.
type hit struct {
	order uint64
	id    string
}

// NewSet returns an empty set.
func NewSet() *Set {
	return &Set{ids: map[string]int32{}, lists: map[uint64][]int32{}}
}

// Add adds a program to the set. It replaces the program with the same id, if there is one.
func (s *Set) Add(id string, p *Program) {
	covers := p.covers()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(id)
	c := s.choose(covers)
	slot := int32(len(s.slots))
	if n := len(s.free); n > 0 {
		slot, s.free = s.free[n-1], s.free[:n-1]
	} else {
		s.slots = append(s.slots, member{})
	}
	s.added++
	s.slots[slot] = member{strings.Clone(id), p, c.keys, s.added}
	s.ids[id] = slot
	if len(c.keys) == 0 {
		s.always = append(s.always, slot)
	}
	for _, k := range c.keys {
		s.lists[k.id()] = append(s.lists[k.id()], slot)
		s.used[k.kind]++
	}
}

// crowded limits the programs under one key. Once a key has this many, further programs are
// indexed by another key if possible. So thousands of rules about one author are indexed by their
// words.
const crowded = 32

// choose returns the first of a program's covers that has no crowded key. If each has one, it
// returns the first.
func (s *Set) choose(covers []cover) cover {
	for _, c := range covers {
		if !slices.ContainsFunc(c.keys, func(k key) bool { return len(s.lists[k.id()]) >= crowded }) {
			return c
		}
	}
	if len(covers) == 0 {
		return cover{}
	}
	return covers[0]
}

// Remove removes a program and reports whether it was in the set.
func (s *Set) Remove(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.remove(id)
}

func (s *Set) remove(id string) bool {
	slot, ok := s.ids[id]
	if !ok {
		return false
	}
	m := &s.slots[slot]
	without := func(list []int32) []int32 {
		return slices.DeleteFunc(list, func(other int32) bool { return other == slot })
	}
	if len(m.keys) == 0 {
		s.always = without(s.always)
	}
	for _, k := range m.keys {
		s.used[k.kind]--
		if list := without(s.lists[k.id()]); len(list) > 0 {
			s.lists[k.id()] = list
		} else {
			delete(s.lists, k.id())
		}
	}
	*m = member{}
	s.free = append(s.free, slot)
	delete(s.ids, id)
	return true
}

// Len returns the number of programs in the set.
func (s *Set) Len() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.ids)
}

// Match calls fn with the id of each program that matches t, in the order in which the programs
// were added. fn may change the set, but that does not change the calls.
func (s *Set) Match(t *fetcher.Tweet, fn func(id string)) {
	p := newPost(t)
	s.mu.RLock()
	p.beginRound(len(s.slots))
	s.try(p, s.always)
	s.lookUp(p)
	s.mu.RUnlock()
	slices.SortFunc(p.hits, func(a, b hit) int {
		if a.order < b.order {
			return -1
		}
		return 1
	})
	for _, h := range p.hits {
		fn(h.id)
	}
	clear(p.hits)
	p.release()
}

// beginRound marks all slots as not tried.
func (p *post) beginRound(slots int) {
	if len(p.tried) < slots {
		p.tried = make([]uint32, slots+slots/4)
		p.round = 0
	}
	if p.round++; p.round == 0 { // after 2^32 posts
		clear(p.tried)
		p.round = 1
	}
	p.hits = p.hits[:0]
}

// try matches p against the programs of a list that have not been tried on it yet.
func (s *Set) try(p *post, list []int32) {
	for _, slot := range list {
		if p.tried[slot] == p.round {
			continue
		}
		p.tried[slot] = p.round
		if m := &s.slots[slot]; m.program.match(p) {
			p.hits = append(p.hits, hit{m.order, m.id})
		}
	}
}

// lookUp tries the programs that are indexed by a key of the post.
func (s *Set) lookUp(p *post) {
	for v := range viewCount {
		if s.used[v] == 0 {
			continue
		}
		for _, t := range p.words(v).tokens {
			if t.hash > linkWord {
				s.tryKey(p, keyKind(v), t.hash)
			}
			if t.stem != 0 {
				s.tryKey(p, keyKind(v), t.stem)
			}
		}
	}
	for _, kind := range [...]keyKind{keyTagExact, keyTagFold} {
		if s.used[kind] > 0 {
			for _, h := range p.hashtags(kind == keyTagExact) {
				s.tryKey(p, kind, h)
			}
		}
	}
	t := p.tweet
	if s.used[keyMention]+s.used[keyMentionID] > 0 {
		for _, h := range p.mentions() {
			s.tryKey(p, keyMention, h)
		}
		for i := range t.UserMentions {
			s.tryKey(p, keyMentionID, idHash(t.UserMentions[i].ID))
		}
	}
	if s.used[keyCashtag] > 0 {
		for _, h := range p.cashtags() {
			s.tryKey(p, keyCashtag, h)
		}
	}
	if s.used[keyAuthor] > 0 {
		s.tryKey(p, keyAuthor, p.hash(t.Username, true))
		if t.Platform != "" {
			s.tryKey(p, keyAuthor, p.hash(t.Platform+":"+t.Username, true))
		}
	}
	s.tryID(p, keyAuthorID, t.UserID)
	s.tryID(p, keyConversation, t.ConversationID)
	s.tryID(p, keyReply, t.InReplyToStatusID)
	s.tryID(p, keyRetweet, t.RetweetedStatusID)
	s.tryID(p, keyQuote, t.QuotedStatusID)
}

func (s *Set) tryKey(p *post, kind keyKind, hash uint64) {
	if list := s.lists[key{kind, hash}.id()]; len(list) > 0 {
		s.try(p, list)
	}
}

func (s *Set) tryID(p *post, kind keyKind, id string) {
	if s.used[kind] > 0 && id != "" {
		s.tryKey(p, kind, idHash(id))
	}
}
