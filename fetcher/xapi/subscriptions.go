package xapi

import (
	"context"
	"log/slog"
	"slices"
	"sync"

	"github.com/streamwatch/streamwatch/fetcher"
)

// Events that are subscribed to.
const (
	postCreate = "post.create"
	postDelete = "post.delete"
)

const (
	subscriptionsPath = "/2/activity/subscriptions"
	// maxDeleted is how many subscriptions one call deletes, and rules.
	maxDeleted = 100
	// maxListed bounds the pages that are read of what X has.
	maxListed = 1000
	// maxRefusals in a row end the making of subscriptions until X's are read again, or
	// other accounts are wanted.
	maxRefusals = 5
)

// pair is what a subscription is to.
type pair struct{ event, user string }

// subscriptions are those of a program, for the accounts that are wanted. It is safe for
// concurrent use.
type subscriptions struct {
	client *client
	tag    string
	most   int
	events []string
	log    *slog.Logger
	refuse *refusals // users that X takes no subscription to

	mu      sync.Mutex
	wanted  []fetcher.Account // with an id, each once
	own     map[pair]string   // ids
	surplus []string          // ids of own ones that there are twice
	others  map[pair]bool     // of other programs, or of none
	foreign int               // how many these are
	failed  int               // refusals in a row
}

func newSubscriptions(c *client, cfg *ActivityConfig, refuse *refusals) *subscriptions {
	s := &subscriptions{client: c, refuse: refuse, tag: cfg.Tag, most: cfg.MaxSubscriptions, events: []string{postCreate, postDelete}, log: cfg.Logger}
	if cfg.PostsOnly {
		s.events = s.events[:1]
	}
	return s
}

// want takes over the accounts that are wanted.
func (s *subscriptions) want(accounts []fetcher.Account) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wanted, s.failed = nil, 0
	known := map[string]bool{}
	for _, a := range accounts {
		if a.UserID != "" && !known[a.UserID] {
			known[a.UserID] = true
			s.wanted = append(s.wanted, a)
		}
	}
}

// inForce gives the accounts whose posts X sends.
func (s *subscriptions) inForce() (accounts []fetcher.Account) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.wanted {
		if s.covers(pair{postCreate, a.UserID}) {
			accounts = append(accounts, a)
		}
	}
	return accounts
}

func (s *subscriptions) covers(p pair) bool {
	_, own := s.own[p]
	return own || s.shared(p)
}

// shared reports whether another program's subscription has to do: X sends its events to
// all connections of the app.
func (s *subscriptions) shared(p pair) bool { return s.others[p] && !s.refuse.seconds() }

// list reads the app's subscriptions.
func (s *subscriptions) list(ctx context.Context) error {
	if err := s.read(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed = 0
	return nil
}

// read reads the app's subscriptions, page by page.
func (s *subscriptions) read(ctx context.Context) error {
	own, others, foreign := map[pair]string{}, map[pair]bool{}, 0
	var surplus []string
	err := pages(ctx, s.client, subscriptionsPath, func(data []byte) error {
		for _, sub := range decodeSubscriptions(data) {
			p := pair{sub.EventType, string(sub.Filter.UserID)}
			mine := sub.Tag == s.tag && p.user != "" && (p.event == postCreate || p.event == postDelete)
			switch _, twice := own[p]; {
			case !mine:
				others[p] = true
				foreign++
			case twice:
				surplus = append(surplus, string(sub.ID))
			default:
				own[p] = string(sub.ID)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.own, s.others, s.surplus, s.foreign = own, others, surplus, foreign
	return nil
}

// step deletes what is not needed any more, and else makes a subscription that is
// missing: one for the posts of each account, and then for their deletions.
func (s *subscriptions) step(ctx context.Context) (bool, error) {
	s.mu.Lock()
	chosen := s.choose()
	gone, ids := s.unneeded(chosen)
	missing, some := s.missing(chosen)
	if left := s.crowded(chosen); !some && s.refuse.crowd(left) {
		s.log.Warn("xapi: no room for subscriptions to some accounts: they are polled", "accounts", left, "subscriptions", s.most)
	}
	s.mu.Unlock()
	switch {
	case len(ids) > 0:
		return true, s.remove(ctx, gone, ids)
	case some:
		return true, s.create(ctx, missing)
	}
	return false, nil
}

// crowded is how many accounts there is no room for.
func (s *subscriptions) crowded(chosen map[string]bool) (left int) {
	for _, a := range s.wanted {
		if !chosen[a.UserID] && !s.refuse.has(a.UserID) {
			left++
		}
	}
	return left
}

// choose gives the users that are subscribed to: those that are already, and as many
// others as there is room for.
func (s *subscriptions) choose() map[string]bool {
	chosen := map[string]bool{}
	room := s.most - s.foreign
	take := func(user string) {
		need := 0
		for _, event := range s.events {
			if !s.shared(pair{event, user}) {
				need++
			}
		}
		if need <= room {
			room -= need
			chosen[user] = true
		}
	}
	for _, a := range s.wanted {
		if _, ok := s.own[pair{postCreate, a.UserID}]; ok {
			take(a.UserID)
		}
	}
	for _, a := range s.wanted {
		if !chosen[a.UserID] && !s.refuse.has(a.UserID) {
			take(a.UserID)
		}
	}
	return chosen
}

// unneeded gives own subscriptions that are not for the chosen, as many as one call
// deletes.
func (s *subscriptions) unneeded(chosen map[string]bool) (gone []pair, ids []string) {
	ids = append(ids, s.surplus[:min(len(s.surplus), maxDeleted)]...)
	for p, id := range s.own {
		if len(ids) == maxDeleted {
			break
		}
		if !chosen[p.user] || !slices.Contains(s.events, p.event) {
			gone, ids = append(gone, p), append(ids, id)
		}
	}
	return gone, ids
}

// missing gives a subscription to make next.
func (s *subscriptions) missing(chosen map[string]bool) (p pair, ok bool) {
	if s.failed >= maxRefusals {
		return pair{}, false
	}
	for _, event := range s.events {
		for _, a := range s.wanted {
			p := pair{event, a.UserID}
			if chosen[a.UserID] && !s.refuse.has(a.UserID) && !s.covers(p) {
				return p, true
			}
		}
	}
	return pair{}, false
}
