package xapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/streamwatch/streamwatch/fetcher"
)

// remove deletes subscriptions. One that is gone already is no error.
func (s *subscriptions) remove(ctx context.Context, gone []pair, ids []string) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	_, err := s.client.call(ctx, http.MethodDelete, subscriptionsPath, url.Values{"ids": {strings.Join(ids, ",")}}, nil)
	if err != nil && !errors.Is(err, fetcher.ErrNotFound) {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range gone {
		delete(s.own, p)
	}
	s.surplus = s.surplus[len(ids)-len(gone):]
	return nil
}

// create makes a subscription.
func (s *subscriptions) create(ctx context.Context, p pair) error {
	call, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	a, err := s.client.call(call, http.MethodPost, subscriptionsPath, nil, map[string]any{
		"event_type": p.event, "filter": map[string]string{"user_id": p.user}, "tag": s.tag})
	switch {
	case duplicate(err):
		return s.share(ctx, p)
	case refusal(err):
		s.mu.Lock()
		defer s.mu.Unlock()
		s.failed++
		if s.refuse.add(p.user) {
			s.log.Warn("xapi: no subscription to an account: it is polled", "user", p.user, "event", p.event, "error", err)
		}
		return nil
	case err != nil:
		return err
	}
	d, err := decodeDocument(a.body)
	if err != nil {
		return fmt.Errorf("xapi: making a subscription: %w", err)
	}
	for _, sub := range decodeSubscriptions(d.Data) {
		if sub.ID != "" && sub.EventType == p.event && string(sub.Filter.UserID) == p.user {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.own[p], s.failed = string(sub.ID), 0
			return nil
		}
	}
	return fmt.Errorf("xapi: making a subscription: %w: the answer does not have it", fetcher.ErrMalformed)
}

// share finds out whose a subscription is that there is already. Where it is another
// program's, X sends its events to all connections of the app.
func (s *subscriptions) share(ctx context.Context, p pair) error {
	if err := s.read(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, own := s.own[p]; own {
		return nil
	}
	if s.others[p] {
		s.refuse.second()
	} else {
		s.refuse.add(p.user)
	}
	return nil
}

// duplicate reports whether an error says that there is such a subscription.
func duplicate(err error) bool {
	var status *fetcher.StatusError
	return errors.As(err, &status) && (status.Code == http.StatusConflict || status.Code == http.StatusBadRequest && strings.Contains(strings.ToLower(status.Detail), "duplicate"))
}

// refusal reports whether an error is X's no to one subscription. What keeps it from
// all requests keeps it from the stream, too.
func refusal(err error) bool {
	var bad *invalidRequest
	return errors.As(err, &bad) || errors.Is(err, fetcher.ErrNotFound) || errors.Is(err, fetcher.ErrProtected) || errors.Is(err, fetcher.ErrUnauthorized)
}

// subscription is one as X writes it.
type subscription struct {
	ID        ident  `json:"subscription_id"`
	EventType string `json:"event_type"`
	Tag       string `json:"tag"`
	Filter    struct {
		UserID ident `json:"user_id"`
	} `json:"filter"`
}

// decodeSubscriptions reads a list of subscriptions, or a single one: X's documents
// show both.
func decodeSubscriptions(data []byte) list[subscription] {
	var many list[subscription]
	if json.Unmarshal(data, &many) == nil && len(many) > 0 {
		return many
	}
	var one subscription
	if lenient(json.Unmarshal(data, &one)) == nil && one.ID != "" {
		return list[subscription]{one}
	}
	return nil
}

// pages reads the pages of a list.
func pages(ctx context.Context, c *client, path string, each func(data []byte) error) error {
	query := url.Values{}
	for range maxListed {
		call, cancel := context.WithTimeout(ctx, callTimeout)
		a, err := c.call(call, http.MethodGet, path, query, nil)
		cancel()
		if err != nil {
			return err
		}
		d, err := decodeDocument(a.body)
		if err != nil {
			return fmt.Errorf("xapi: reading %s: %w", path, err)
		}
		if len(d.Data) > 0 {
			if err := each(d.Data); err != nil {
				return err
			}
		}
		if d.Meta.NextToken == "" || d.Meta.NextToken == query.Get("pagination_token") {
			return nil
		}
		query.Set("pagination_token", d.Meta.NextToken)
	}
	return fmt.Errorf("xapi: %s has more than %d pages", path, maxListed)
}
