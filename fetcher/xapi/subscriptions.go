package xapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// The kinds of events to subscribe to.
const (
	postCreate = "post.create"
	postDelete = "post.delete"
)

const (
	subscriptionsPath = "/2/activity/subscriptions"
	// maxListed is the largest number of pages read of a list of subscriptions or rules.
	maxListed = 1000
)

// subscriptions manages the program's subscriptions for the wanted accounts. It implements feed,
// and holdings with keys such as "post.create 12", which name an event and an account's id.
type subscriptions struct {
	client    *client
	tag       string
	postsOnly bool
	upkeep    *upkeep
	told      map[string]fetcher.Account // the last result of force, by id

	mu     sync.Mutex
	wanted []fetcher.Account // accounts with an id, without duplicates
}

// want replaces the wanted accounts. If not all subscriptions fit into the limit, those to
// posts have priority over those to deletions.
func (s *subscriptions) want(accounts []fetcher.Account) {
	var wanted []fetcher.Account
	var posts, deletions []string
	known := map[string]bool{}
	for _, a := range accounts {
		if a.UserID == "" || known[a.UserID] {
			continue
		}
		known[a.UserID] = true
		wanted, posts = append(wanted, a), append(posts, postCreate+" "+a.UserID)
		if !s.postsOnly {
			deletions = append(deletions, postDelete+" "+a.UserID)
		}
	}
	s.mu.Lock()
	s.wanted = wanted
	s.mu.Unlock()
	s.upkeep.want(posts, deletions)
}

// force returns a signal with the accounts to whose posts the program is subscribed.
func (s *subscriptions) force() (sig fetcher.Signal, some bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.told = map[string]fetcher.Account{}
	for _, a := range s.wanted {
		if has, _ := s.upkeep.has(postCreate + " " + a.UserID); has {
			s.told[a.UserID] = a
			sig.Accounts = append(sig.Accounts, a)
		}
	}
	return sig, len(sig.Accounts) > 0
}

// open connects to the activity stream.
func (s *subscriptions) open(ctx context.Context) (*http.Response, error) {
	return s.client.send(ctx, http.MethodGet, activityPath, "", nil)
}

func (*subscriptions) batch() int          { return 1 }
func (*subscriptions) usedFrom() time.Time { return time.Time{} }

// list reads all subscriptions of the app: see holdings.
func (s *subscriptions) list(ctx context.Context) (own map[string]string, foreign int, err error) {
	own = map[string]string{}
	err = pages(ctx, s.client, subscriptionsPath, func(sub subscription) {
		if sub.Tag == s.tag && (sub.EventType == postCreate || sub.EventType == postDelete) {
			own[sub.EventType+" "+sub.Filter.UserID] = sub.ID
		} else {
			foreign++
		}
	})
	return own, foreign, err
}

// add creates the subscription with the key keys[0]. X's answer may also list other
// subscriptions; add ignores them.
func (s *subscriptions) add(ctx context.Context, keys []string) (made, refused map[string]string, err error) {
	event, user, _ := strings.Cut(keys[0], " ")
	a, err := s.client.call(ctx, http.MethodPost, subscriptionsPath, "", map[string]any{
		"event_type": event, "filter": map[string]string{"user_id": user}, "tag": s.tag})
	if refusal(err) {
		return nil, map[string]string{keys[0]: err.Error()}, nil
	}
	if err != nil {
		return nil, nil, err
	}
	d, err := decode[subscription](a.body)
	if err != nil {
		return nil, nil, fmt.Errorf("xapi: cannot make a subscription: %w", err)
	}
	for _, sub := range d.Data {
		if sub.ID != "" && sub.EventType == event && sub.Filter.UserID == user {
			return map[string]string{keys[0]: sub.ID}, nil, nil
		}
	}
	return nil, nil, fmt.Errorf("xapi: cannot make a subscription: %w: the answer does not have it", fetcher.ErrMalformed)
}

// refusal reports whether err means that X has refused this one subscription, for example
// because another program has it. It may also report true for an error of all requests, such as
// a bad token; but then the stream cannot connect either.
func refusal(err error) bool {
	var bad *invalidRequest
	var status *fetcher.StatusError
	return errors.As(err, &bad) || errors.As(err, &status) && status.Code == http.StatusConflict ||
		errors.Is(err, fetcher.ErrNotFound) || errors.Is(err, fetcher.ErrProtected) || errors.Is(err, fetcher.ErrUnauthorized)
}

// remove deletes subscriptions.
func (s *subscriptions) remove(ctx context.Context, ids []string) error {
	_, err := s.client.call(ctx, http.MethodDelete, subscriptionsPath, "ids="+url.QueryEscape(strings.Join(ids, ",")), nil)
	return err
}

// subscription is a subscription in X's format.
type subscription struct {
	ID        string `json:"subscription_id"`
	EventType string `json:"event_type"`
	Tag       string `json:"tag"`
	Filter    struct {
		UserID string `json:"user_id"`
	} `json:"filter"`
}

// event is a line of the activity stream.
type event struct {
	Data *struct {
		UUID      string `json:"event_uuid"`
		EventType string `json:"event_type"`
		Filter    struct {
			UserID string `json:"user_id"`
		} `json:"filter"`
		Payload  post     `json:"payload"`
		Includes includes `json:"includes"`
	} `json:"data"`
	Errors []problem `json:"errors"`
}

// signal converts a line to a signal. An unreadable line becomes a SignalGap. An event of
// another kind, or of an account that force did not return, becomes a SignalHeartbeat.
func (s *subscriptions) signal(line []byte) (fetcher.Signal, error) {
	var v event
	if badSyntax(json.Unmarshal(line, &v)) {
		return fetcher.Signal{Kind: fetcher.SignalGap}, nil
	}
	if v.Data == nil || v.Data.EventType == "" {
		return notData(v.Errors)
	}
	d := v.Data
	account, told := s.told[d.Filter.UserID]
	sig := fetcher.Signal{Kind: fetcher.SignalHeartbeat}
	sig.Billed.Events = s.client.ledger.charge(s.client.now(), billedEvent, d.UUID)
	switch {
	case !told || d.EventType != postCreate && d.EventType != postDelete:
	case d.Payload.ID == "":
		sig.Kind, sig.Accounts = fetcher.SignalGap, []fetcher.Account{account}
	case d.EventType == postDelete:
		sig.Kind, sig.ID = fetcher.SignalDelete, d.Payload.ID
	default:
		d.Payload.AuthorID = d.Filter.UserID
		t := d.Payload.tweet(d.Payload.publishedAt(), &d.Includes)
		sig.Kind, sig.Post = fetcher.SignalPost, &t
	}
	return sig, nil
}

// pages reads all pages of a list and calls the function each for every element.
func pages[T any](ctx context.Context, c *client, path string, each func(T)) error {
	query := ""
	for range maxListed {
		a, err := c.get(ctx, path, query)
		if err != nil {
			return err
		}
		d, err := decode[T](a.body)
		if err != nil {
			return fmt.Errorf("xapi: cannot read %s: %w", path, err)
		}
		for _, it := range d.Data {
			each(it)
		}
		token, err := d.nextToken()
		if err != nil {
			return err
		}
		if token == "" {
			return nil
		}
		query = "pagination_token=" + url.QueryEscape(token)
	}
	return fmt.Errorf("xapi: %s has more than %d pages", path, maxListed)
}
