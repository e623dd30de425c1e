package upgrade

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/webhook"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule"
	"github.com/streamwatch/streamwatch/storage"
)

// Check reports what is not in a store as Fill has written it, and what an engine on it
// does wrong: it has to deliver what was open with the same ids, bytes and signatures,
// find a new post and none that was found before, and number its event next.
func Check(ctx context.Context, store storage.Store) error {
	if err := read(ctx, store); err != nil {
		return err
	}
	return run(ctx, store)
}

// read compares what the store shows.
func read(ctx context.Context, store storage.Store) (all error) {
	same := func(what string, got, want any, err error) {
		if err != nil || !reflect.DeepEqual(got, want) {
			all = errors.Join(all, fmt.Errorf("upgrade: %s: got %+v, %v, want %+v", what, got, err, want))
		}
	}
	m, err := store.Monitors().List(ctx, monitor.Query{Owner: owner})
	same("monitors", m.Monitors, []monitor.Monitor{watch}, err)
	r, err := store.Rules().List(ctx, rule.Query{Owner: owner})
	same("rules", r.Rules, []rule.Rule{search}, err)
	hooks, err := sealed(store)
	if err != nil {
		return err
	}
	e, err := hooks.Get(ctx, owner, endpoint.ID)
	same("the endpoint", e.Secret == secret && e.URL == hookURL && e.Source == source && e.Bound && e.Status == deliver.EndpointActive, true, err)
	if keyed, ok := store.(storage.Keyed); ok {
		k, err := keyed.Keys().Find(ctx, key.Lookup())
		same("the key", k, key, err)
	}
	c, err := store.Journal().Cursors(ctx, account)
	same("cursors", len(c) == 1 && c[0].Since.Equal(cursor.Since) && c[0].UserID == cursor.UserID, true, err)
	balance, err := store.Ledger().Balance(ctx, owner)
	same("the balance", balance, billing.Balance{Available: 97 * billing.Credit, Reserved: 2 * billing.Credit}, err)
	ledger, err := store.Ledger().Entries(ctx, billing.EntryQuery{Owner: owner, Asc: true})
	var entries []string
	for _, entry := range ledger.Entries {
		entries = append(entries, fmt.Sprint(entry.ID, entry.Amount, entry.Balance, entry.SourceName))
	}
	same("the ledger", entries, []string{fmt.Sprint(topUp.ID, topUp.Amount, topUp.Amount), fmt.Sprint(charge.ID, charge.Amount, topUp.Amount+charge.Amount, source.Name)}, err)
	events, err := store.Log().Events(ctx, owner, 0, 10)
	var found, want []string
	for _, ev := range events {
		found = append(found, fmt.Sprint(ev.Seq, ev.ID, ev.TweetID, ev.PublishedAt.UTC(), string(ev.Body)))
	}
	for i, p := range posts {
		ev := event(p.id)
		want = append(want, fmt.Sprint(i+1, ev.ID, ev.TweetID, ev.PublishedAt, string(ev.Body)))
	}
	same("events", found, want, err)
	for _, p := range posts {
		d, err := store.Log().Delivery(ctx, owner, deliveryID(p.id))
		same("the delivery of "+p.id, d.State, p.state, err)
		if p.state != deliver.StatePending {
			same("the log of "+p.id, len(d.Log) == 1 && d.Log[0].ResponsePreview == "answer to "+p.id, true, err)
		}
	}
	return all
}

// newPost is published after what Fill has written.
const newPost = "105"

// platform shows the posts that are stored, and a new one.
type platform struct{}

func (platform) Timeline(context.Context, fetcher.TimelineQuery) (page fetcher.Page, err error) {
	page.UserID = cursor.UserID
	for _, id := range []string{newPost, "104", "103", "102", "101"} {
		page.Tweets = append(page.Tweets, fetcher.Tweet{ID: id, Text: "post " + id, FullText: "post " + id, Username: "nasa", UserID: cursor.UserID,
			CreatedAt: fetcher.FormatTime(published(id)), PublishedAt: published(id)})
	}
	return page, nil
}

// receiver answers each request, and notes its delivery.
type receiver struct {
	mu     sync.Mutex
	bodies map[string]string // by delivery
	wrong  error
	came   chan struct{}
}

func (r *receiver) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	id := req.Header.Get(deliver.HeaderDeliveryID)
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, again := r.bodies[id]; again {
		r.wrong = errors.Join(r.wrong, fmt.Errorf("upgrade: delivery %s came twice", id))
	}
	if !deliver.Verify(secret, body, req.Header.Get(deliver.HeaderSignature)) {
		r.wrong = errors.Join(r.wrong, fmt.Errorf("upgrade: delivery %s is not signed with the stored secret", id))
	}
	r.bodies[id], r.wrong = string(body), errors.Join(r.wrong, err)
	r.came <- struct{}{}
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: http.NoBody}, nil
}

// run has an engine go on with the store.
func run(ctx context.Context, store storage.Store) (all error) {
	seal, err := sealer()
	if err != nil {
		return err
	}
	got := &receiver{bodies: map[string]string{}, came: make(chan struct{}, 100)}
	engine, err := streamwatch.New(streamwatch.Config{Fetcher: platform{}, Store: store, Sealer: seal, Webhook: webhook.Config{Transport: got}, Now: Clock})
	if err != nil {
		return err
	}
	if err := engine.Start(ctx); err != nil {
		return err
	}
	for n := 0; n < 3 && all == nil; n++ { // 103, 104 and the new one
		select {
		case <-got.came:
		case <-ctx.Done():
			all = fmt.Errorf("upgrade: %d of 3 deliveries came: %w", n, context.Cause(ctx))
		}
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	all = errors.Join(all, engine.Shutdown(end))
	got.mu.Lock()
	defer got.mu.Unlock()
	all = errors.Join(all, got.wrong)
	for _, post := range []string{"103", "104"} {
		if want := string(event(post).Body); got.bodies[deliveryID(post)] != want {
			all = errors.Join(all, fmt.Errorf("upgrade: the open delivery of %s has the body %q, want %q", post, got.bodies[deliveryID(post)], want))
		}
	}
	events, err := store.Log().Events(end, owner, 0, 10)
	if err != nil {
		return errors.Join(all, err)
	}
	var ids []string
	for _, ev := range events {
		ids = append(ids, fmt.Sprint(ev.Seq, ":", ev.TweetID))
	}
	if want := []string{"1:101", "2:102", "3:103", "4:104", "5:" + newPost}; !slices.Equal(ids, want) {
		all = errors.Join(all, fmt.Errorf("upgrade: events %v after a poll, want %v: a post was found twice, or none was", ids, want))
	}
	return all
}
