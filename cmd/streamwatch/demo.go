package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/apikey"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/endpoints"
	"github.com/streamwatch/streamwatch/deliver/receive"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/storage"
)

// demoOwner owns the demonstration's key.
const demoOwner = "demo"

// demoPlatform is a fake platform on which a few accounts post. It implements the port of
// every pass-through endpoint.
type demoPlatform struct {
	*enginetest.Platform
	accounts []string
}

func newDemoPlatform() *demoPlatform {
	d := &demoPlatform{accounts: []string{"nasa", "esa", "jaxa"}}
	d.Platform = enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: d.accounts, Seed: uint64(time.Now().UnixNano())})
	hourAgo := time.Now().Add(-time.Hour)
	for _, name := range d.accounts {
		d.PostAt(name, "Hello from "+name, hourAgo, hourAgo)
	}
	return d
}

// checkDemoAccount is the CheckAccount of a demoPlatform.
func checkDemoAccount(name string) error {
	if strings.ContainsAny(name, ":@") {
		return errors.New("a handle of letters, digits, '_', '-' and '.', such as nasa")
	}
	return nil
}

// UserByUsername makes up a profile of an account.
func (d *demoPlatform) UserByUsername(ctx context.Context, username string) (fetcher.User, error) {
	page, err := d.Timeline(ctx, fetcher.TimelineQuery{Username: username})
	if err != nil {
		return fetcher.User{}, err
	}
	bio := "An account of the demonstration."
	return fetcher.User{ID: page.UserID, Username: strings.ToLower(username), Name: strings.ToUpper(username), Description: &bio,
		CreatedAt: fetcher.FormatTime(time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)), TweetCount: int64(len(page.Tweets))}, nil
}

// UsersByIDs searches all accounts, which are few.
func (d *demoPlatform) UsersByIDs(ctx context.Context, ids []string) (found []fetcher.User, err error) {
	for _, id := range ids {
		for _, name := range d.accounts {
			u, err := d.UserByUsername(ctx, name)
			if err != nil {
				return nil, err
			}
			if u.ID == id {
				found = append(found, u)
			}
		}
	}
	return found, nil
}

// TweetsByIDs finds posts among the newest of each account.
func (d *demoPlatform) TweetsByIDs(ctx context.Context, ids []string) (found []fetcher.Tweet, err error) {
	known := map[string]fetcher.Tweet{}
	for _, name := range d.accounts {
		page, err := d.Timeline(ctx, fetcher.TimelineQuery{Username: name})
		if err != nil {
			return nil, err
		}
		for _, t := range page.Tweets {
			known[t.ID] = t
		}
	}
	for _, id := range ids {
		if t, ok := known[id]; ok {
			found = append(found, t)
		}
	}
	return found, nil
}

// demoCommunity is the only community; its posts are those of the first account.
var demoCommunity = fetcher.Community{ID: "7", Name: "Spaceflight", Description: "Rockets and what they carry.", MemberCount: 3}

// CommunityTweets reads the community's posts.
func (d *demoPlatform) CommunityTweets(ctx context.Context, q fetcher.CommunityQuery) (fetcher.Page, error) {
	if q.CommunityID != demoCommunity.ID {
		return fetcher.Page{}, fetcher.ErrNotFound
	}
	return d.Search(ctx, fetcher.SearchQuery{Query: "from:" + d.accounts[0], Type: q.Type, Limit: q.Limit, Cursor: q.Cursor})
}

// CommunitySearch looks for the text in the community's name and description.
func (d *demoPlatform) CommunitySearch(_ context.Context, query, _ string) ([]fetcher.Community, string, error) {
	if strings.Contains(strings.ToLower(demoCommunity.Name+" "+demoCommunity.Description), strings.ToLower(query)) {
		return []fetcher.Community{demoCommunity}, "", nil
	}
	return nil, "", nil
}

// startDemo issues a key and prints it. It adds to mux what the service otherwise calls on other
// hosts: a webhook receiver, a page, and a marketplace with one item.
func startDemo(ctx context.Context, mux *http.ServeMux, d *demoPlatform, store storage.Store, keys *apikey.Manager, base string, out io.Writer, log *slog.Logger) error {
	key, err := keys.Issue(ctx, apikey.IssueRequest{Owner: demoOwner, Name: "demo", Tier: "demo", Scope: apikey.ScopeAdmin})
	if err != nil {
		return err
	}
	if _, err := topUp(ctx, store.Ports().Ledger, demoOwner, "demo", 1_000_000); err != nil {
		return err
	}
	hook, err := demoReceiver(ctx, endpoints.NewStore(store.Ports().Records, nil), log)
	if err != nil {
		return err
	}
	mux.Handle("POST /demo/hook", hook)
	mux.HandleFunc("GET /demo/page", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		io.WriteString(w, "<!doctype html><title>A page</title><h1>A page</h1><p>With <b>bold</b> words and a <a href=\"/demo/page\">link</a>.</p>")
	})
	mux.HandleFunc("GET /robots.txt", http.NotFound)
	mux.HandleFunc("GET /api/v4/item/get", func(w http.ResponseWriter, r *http.Request) {
		item, _ := strconv.ParseInt(r.FormValue("itemid"), 10, 64)
		shop, _ := strconv.ParseInt(r.FormValue("shopid"), 10, 64)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"error":null,"data":{"itemid":%d,"shopid":%d,"name":"Cotton Shirt","price":1599000,"price_min":1599000,"price_max":1999000,"currency":"SGD","stock":1200,"item_status":"normal","ctime":1666316078}}`, item, shop)
	})
	_, err = fmt.Fprintf(out, "\nA key with 1,000,000 credits; @%s post about every two seconds:\n\n    export KEY=%s BASE=%s\n\n",
		strings.Join(d.accounts, ", @"), string(key.Secret), base)
	return err
}

// secretsOf returns the secrets that requests to an endpoint may be signed with.
func secretsOf(e deliver.Endpoint) []deliver.Secret {
	all := []deliver.Secret{e.Secret}
	for _, old := range e.OldSecrets {
		all = append(all, old.Secret)
	}
	return all
}

// demoReceiver returns a webhook receiver that checks the signature and logs the post. A real receiver
// knows its secret; this one reads it from the store.
func demoReceiver(ctx context.Context, stored *endpoints.Store, log *slog.Logger) (http.Handler, error) {
	v, err := receive.NewVerifier(receive.Config{SecretsFor: func(id string) []deliver.Secret {
		e, err := stored.Get(ctx, demoOwner, id)
		if err != nil {
			return nil
		}
		return secretsOf(e)
	}})
	if err != nil {
		return nil, err
	}
	return v.Handler(func(_ context.Context, r receive.Received) error {
		log.Info("webhook received, signature valid", "author", r.AuthorUsername, "text", r.TweetText, "latency", r.Latency, "delivery", r.DeliveryID)
		return nil
	}), nil
}
