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
	"github.com/streamwatch/streamwatch/storage"
)

// demoOwner owns the demonstration's key.
const demoOwner = "demo"

// demoAccounts are those of the fake platform.
var demoAccounts = []string{"nasa", "esa", "jaxa"}

// newDemoPlatform returns a fake platform on which a few accounts post.
func newDemoPlatform() *enginetest.Everything {
	d := enginetest.NewEverything(enginetest.PlatformConfig{Accounts: demoAccounts, Seed: uint64(time.Now().UnixNano())})
	hourAgo := time.Now().Add(-time.Hour)
	for _, name := range demoAccounts {
		d.PostAt(name, "Hello from "+name, hourAgo, hourAgo)
	}
	return d
}

// checkDemoAccount is the CheckAccount of a fake platform.
func checkDemoAccount(name string) error {
	if strings.ContainsAny(name, ":@") {
		return errors.New("a handle of letters, digits, '_', '-' and '.', such as nasa")
	}
	return nil
}

// startDemo issues a key and prints it. It adds to mux what the service otherwise calls on other
// hosts: a webhook receiver, a page, and a marketplace with one item.
func startDemo(ctx context.Context, mux *http.ServeMux, store storage.Store, keys *apikey.Manager, base string, out io.Writer, log *slog.Logger) error {
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
		strings.Join(demoAccounts, ", @"), string(key.Secret), base)
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
