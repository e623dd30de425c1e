package main

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"
)

// afternoon is the program that one writes in an afternoon.
type afternoon struct {
	order  contestantOrder
	client *http.Client
	slots  chan struct{} // requests under way
}

// mastodonStatus has the members of a post that it decodes.
type mastodonStatus struct {
	ID        string    `json:"id"`
	CreatedAt time.Time `json:"created_at"`
	URL       string    `json:"url"`
	Content   string    `json:"content"`
	Language  string    `json:"language"`
	InReplyTo *string   `json:"in_reply_to_id"`
	Account   struct {
		ID          string `json:"id"`
		Username    string `json:"username"`
		Acct        string `json:"acct"`
		DisplayName string `json:"display_name"`
		Avatar      string `json:"avatar"`
		Followers   int    `json:"followers_count"`
	} `json:"account"`
	Media []struct {
		Type        string `json:"type"`
		URL         string `json:"url"`
		Description string `json:"description"`
	} `json:"media_attachments"`
	Replies    int `json:"replies_count"`
	Reblogs    int `json:"reblogs_count"`
	Favourites int `json:"favourites_count"`
}

// found is the body of its webhook.
type found struct {
	Event   string         `json:"event"`
	TweetID string         `json:"tweet_id"`
	Account string         `json:"account"`
	Post    mastodonStatus `json:"post"`
}

func startAfternoon(o contestantOrder) (stop func() error, err error) {
	a := &afternoon{order: o, client: &http.Client{Timeout: 30 * time.Second}, slots: make(chan struct{}, inFlight)}
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	for i := range o.Accounts {
		all.Go(func() { a.watch(ctx, i) })
	}
	return func() error {
		cancel()
		all.Wait()
		return nil
	}, nil
}

// watch polls one account. What its first page has is no news.
func (a *afternoon) watch(ctx context.Context, account int) {
	select { // polls are spread over the interval
	case <-ctx.Done():
		return
	case <-time.After(rand.N(a.order.Interval)):
	}
	ticker := time.NewTicker(a.order.Interval)
	defer ticker.Stop()
	var seen map[string]bool
	for {
		posts, err := a.fetch(ctx, account)
		if err != nil {
			if ctx.Err() == nil {
				log.Printf("%s: %v", username(account), err)
			}
		} else {
			first := seen == nil
			if first {
				seen = map[string]bool{}
			}
			for _, p := range posts {
				if seen[p.ID] {
					continue
				}
				seen[p.ID] = true
				if first {
					continue
				}
				if err := a.send(p); err != nil {
					log.Printf("%s: post %s: %v", username(account), p.ID, err)
				}
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func (a *afternoon) fetch(ctx context.Context, account int) ([]mastodonStatus, error) {
	a.slots <- struct{}{}
	defer func() { <-a.slots }()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, statusesURL(a.order, account), nil)
	if err != nil {
		return nil, err
	}
	resp, err := a.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("status %s", resp.Status)
	}
	var posts []mastodonStatus
	return posts, json.NewDecoder(resp.Body).Decode(&posts)
}

func (a *afternoon) send(p mastodonStatus) error {
	body, err := json.Marshal(found{Event: "post", TweetID: p.ID, Account: p.Account.Username, Post: p})
	if err != nil {
		return err
	}
	mac := hmac.New(sha256.New, []byte(a.order.Secret))
	mac.Write(body)
	req, err := http.NewRequest(http.MethodPost, a.order.Hook, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	resp, err := a.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	io.Copy(io.Discard, resp.Body)
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("status %s", resp.Status)
	}
	return nil
}
