package upgrade

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/apikey"
	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/endpoints"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule"
	"github.com/streamwatch/streamwatch/storage"
)

// At is the moment at which Fill writes: a store that is filled has this for its clock.
var At = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

// Clock goes on from At: a store that is checked has it for its clock.
func Clock() time.Time { return At.Add(time.Since(began)) }

var began = time.Now()

// What Fill writes, all of one owner.
const (
	owner   = "acme"
	hookURL = "https://hooks.example.com/upgrade"
	secret  = deliver.Secret("whsec_of_an_earlier_version")
	sealKey = deliver.Secret("c3RyZWFtd2F0Y2ggdGVzdCBrZXkgb2YgMzIgYnl0ZXM=")
	account = "account:nasa" // the target of the monitor's account
)

var (
	source   = deliver.Source{Kind: deliver.SourceMonitor, ID: "mon_1", Owner: owner, Name: "space"}
	endpoint = deliver.Endpoint{ID: "whk_1", Source: source, URL: hookURL, Secret: secret, Bound: true,
		Status: deliver.EndpointActive, CreatedAt: At, UpdatedAt: At, Version: 1}
	watch = monitor.Monitor{ID: source.ID, Owner: owner, Name: source.Name, Accounts: []monitor.Account{{Username: "nasa", Since: At.Add(-time.Hour)}},
		FilterTypes: []monitor.FilterType{monitor.Original}, PollInterval: time.Second, WebhookURL: hookURL, WebhookSecretSet: true,
		Status: monitor.Active, CreatedAt: At, UpdatedAt: At, Version: 1}
	search = rule.Rule{ID: "rul_1", Owner: owner, Tag: "rockets", Query: `from:nasa "lift off"`, Interval: time.Minute, MaxResults: 50,
		Status: rule.Paused, StatusReason: "user", CreatedAt: At, UpdatedAt: At, Since: At, Version: 1}
	key    = apikey.Key{ID: "key_1", Owner: owner, Name: "production", Prefix: "sw_live_Ab3x", Hash: strings.Repeat("5e", 32), Scope: apikey.ScopeAdmin, CreatedAt: At, Version: 1}
	cursor = detect.Cursor{Target: account, Since: At.Add(-time.Minute), UserID: "11348282"}
	topUp  = billing.Entry{ID: "invoice 1", Owner: owner, Kind: billing.KindTopUp, Amount: 100 * billing.Credit, At: At}
	charge = billing.Entry{ID: "charge 1", Owner: owner, Kind: billing.KindMonitor, Amount: -billing.Credit, At: At, SourceID: source.ID, SourceName: source.Name, NumAccounts: 1}
)

// posts are the ids of the posts whose events are stored, with the states of their
// deliveries.
var posts = []struct {
	id    string
	state deliver.State
}{{"101", deliver.StateDelivered}, {"102", deliver.StateFailed}, {"103", deliver.StateRetrying}, {"104", deliver.StatePending}}

func event(post string) deliver.Event {
	return deliver.Event{ID: deliver.EventID(source.ID, post), Source: source, TweetID: post, AuthorUsername: "nasa", TextPreview: "post " + post,
		PublishedAt: published(post), DetectedAt: At, Latency: time.Minute, Body: []byte(`{"event":"tweet.detected","tweet_id":"` + post + `"}`)}
}

// published is when a post was published: the later it is, the greater its id. A poll
// that goes on from the stored cursor reads all of them again.
func published(post string) time.Time {
	return At.Add(-150*time.Second + time.Duration(post[len(post)-1]-'0')*10*time.Second)
}

func deliveryID(post string) string {
	return deliver.DeliveryID(deliver.EventID(source.ID, post), endpoint.ID)
}

// sealed gives the endpoints of a store as an engine with the key has them.
func sealed(store storage.Store) (deliver.EndpointStore, error) {
	sealer, err := sealer()
	if err != nil {
		return nil, err
	}
	return endpoints.NewSealedStore(store.Endpoints(), sealer)
}

func sealer() (*endpoints.AESSealer, error) {
	return endpoints.NewAESSealer(endpoints.SealKey{ID: "test", Key: sealKey})
}

// Fill writes a monitor with its webhook, whose secret is sealed; a rule; a key, if the
// store keeps keys; credits, a charge and a reservation; a cursor; and events with
// deliveries that have ended, are to be tried again, and are pending.
func Fill(ctx context.Context, store storage.Store) error {
	hooks, err := sealed(store)
	if err != nil {
		return err
	}
	err = errors.Join(hooks.Create(ctx, endpoint), store.Monitors().Create(ctx, watch), store.Rules().Create(ctx, search),
		store.Ledger().Append(ctx, topUp), store.Ledger().Reserve(ctx, billing.Reservation{ID: "hold 1", Owner: owner, Amount: 2 * billing.Credit}))
	if keyed, ok := store.(storage.Keyed); ok {
		err = errors.Join(err, keyed.Keys().Create(ctx, key))
	}
	b := &detect.Batch{Cursor: &cursor, Charges: []billing.Entry{charge}, DeliverBy: At}
	for _, p := range posts {
		b.Events = append(b.Events, event(p.id))
	}
	if err := errors.Join(err, store.Journal().Commit(ctx, []*detect.Batch{b})); err != nil {
		return fmt.Errorf("upgrade: fill: %w", err)
	}
	var ended []deliver.Settlement
	for _, p := range posts {
		if p.state != deliver.StatePending {
			ended = append(ended, deliver.Settlement{DeliveryID: deliveryID(p.id), State: p.state, Due: At,
				Attempt: &deliver.Attempt{N: 1, At: At, StatusCode: 500, ResponsePreview: "answer to " + p.id}})
		}
	}
	return store.Outbox().Settle(ctx, ended...)
}
