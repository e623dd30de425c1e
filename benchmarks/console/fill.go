package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/endpoints"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule"
	"github.com/streamwatch/streamwatch/storage"
)

// setup is what to fill a store with.
type setup struct {
	accounts, events int
	warm             time.Duration
	dir              string
}

const (
	owners  = 10 // who have the monitors and events in turns
	perOne  = 100
	perCall = 1000 // events in a commit
	often   = 60   // monitors whose accounts are polled every 20 s, the others every 10 min
	rules   = 200  // of each owner
	entries = 1000 // of the ledger, of each owner
)

func owner(n int) string   { return fmt.Sprintf("owner%02d", n%owners) }
func account(n int) string { return fmt.Sprintf("account%06d", n) }

// filler fills a store.
type filler struct {
	setup
	store   storage.Store
	engine  *streamwatch.Engine
	sources []deliver.Source
	hook    string // an endpoint of owner 0
}

func (f *filler) fill(ctx context.Context) error {
	f.sources = make([]deliver.Source, (f.accounts+perOne-1)/perOne)
	err := atOnce(len(f.sources), func(n int) error {
		names := make([]string, 0, perOne)
		for n := n * perOne; n < f.accounts && len(names) < perOne; n++ {
			names = append(names, account(n))
		}
		every := 10 * time.Minute
		if n < often {
			every = 20 * time.Second
		}
		m, err := f.engine.Monitors().Create(ctx, monitor.CreateRequest{Owner: owner(n), Name: fmt.Sprintf("monitor %d", n), Usernames: names, PollInterval: every})
		f.sources[n] = deliver.Source{Kind: deliver.SourceMonitor, ID: m.ID, Owner: m.Owner, Name: m.Name}
		return err
	})
	if err != nil {
		return err
	}
	err = atOnce(owners*rules, func(n int) error {
		// Paused, so that the platform need not be searched.
		r, err := f.engine.Rules().Create(ctx, rule.CreateRequest{Owner: owner(n), Tag: fmt.Sprintf("rule %d", n), Query: fmt.Sprintf("from:%s rocket", account(n)), Interval: time.Hour})
		if err == nil {
			_, err = f.engine.Rules().Pause(ctx, r.Owner, r.ID)
		}
		return err
	})
	if err != nil {
		return err
	}
	ledger := f.store.Ledger()
	err = atOnce(owners*entries, func(n int) error {
		return ledger.Append(ctx, billing.Entry{ID: fmt.Sprint("entry ", n), Owner: owner(n), Kind: billing.KindTopUp, Amount: billing.Credit, At: time.Now()})
	})
	if err != nil {
		return err
	}
	most := f.events * 9 / 10
	if err := f.commit(ctx, 0, most, false); err != nil {
		return err
	}
	err = atOnce(len(f.sources), func(n int) error {
		e, err := f.engine.Endpoints().Create(ctx, endpoints.NewEndpoint{Source: f.sources[n], URL: fmt.Sprintf("https://hooks.example.com/%d", n)})
		if n == 0 {
			f.hook = e.ID
		}
		return err
	})
	if err != nil {
		return err
	}
	return f.commit(ctx, most, f.events, true)
}

// atOnce calls fn for 0 to n-1, some at a time: the store commits together what waits.
func atOnce(n int, fn func(n int) error) error {
	var (
		calls sync.WaitGroup
		next  atomic.Int64
		errs  = make([]error, min(n, 128))
	)
	for worker := range errs {
		calls.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && errs[worker] == nil; i = int(next.Add(1)) - 1 {
				errs[worker] = fn(i)
			}
		})
	}
	calls.Wait()
	return errors.Join(errs...)
}

// commit commits the events of some numbers, and settles their deliveries.
func (f *filler) commit(ctx context.Context, from, to int, settle bool) error {
	for ; from < to; from += perCall {
		b := &detect.Batch{DeliverBy: time.Now().Add(time.Hour)}
		for n := from; n < min(from+perCall, to); n++ {
			b.Events = append(b.Events, f.event(n))
		}
		if err := f.store.Journal().Commit(ctx, []*detect.Batch{b}); err != nil {
			return err
		}
		if !settle {
			continue
		}
		var ended []deliver.Settlement
		for _, d := range b.Deliveries {
			ended = append(ended, deliver.Settlement{DeliveryID: d.ID, State: deliver.StateDelivered,
				Attempt: &deliver.Attempt{N: 1, At: time.Now(), Duration: 20 * time.Millisecond, StatusCode: 200, ResponsePreview: "ok"}})
		}
		if err := f.store.Outbox().Settle(ctx, ended...); err != nil {
			return err
		}
	}
	return nil
}

func (f *filler) event(n int) deliver.Event {
	src := f.sources[n%len(f.sources)]
	author, id, now := account(n%len(f.sources)*perOne%f.accounts+n/len(f.sources)%perOne), fmt.Sprint(1_000_000+n), time.Now()
	ev := deliver.Event{ID: deliver.EventID(src.ID, id), Source: src, TweetID: id, AuthorUsername: author,
		TweetURL:    "https://social.example.com/" + author + "/" + id,
		PublishedAt: now.Add(-2 * time.Second), EarliestAt: now.Add(-time.Second), RequestedAt: now, FetchedAt: now, DetectedAt: now, Latency: 2 * time.Second}
	t := fetcher.Tweet{ID: id, Username: author, UserID: id, PublishedAt: ev.PublishedAt, Permalink: ev.TweetURL,
		Text: fmt.Sprintf("Post %d of a rocket that stands on its pad and waits for the weather, as so many did before it", n)}
	ev.TextPreview = t.Text
	ev.Body = deliver.AppendBody(nil, &ev, &t)
	return ev
}

// platform has few posts. By the last two digits of its name an account fails, has more
// than a page, is silent after many posts, or posts between any two polls.
type platform struct{}

// began is when the program did.
var began = time.Now()

func (platform) Timeline(_ context.Context, q fetcher.TimelineQuery) (fetcher.Page, error) {
	now := time.Now()
	post := func(at time.Time) fetcher.Tweet {
		return fetcher.Tweet{ID: fmt.Sprint(q.Username, at.UnixNano()), Username: q.Username, PublishedAt: at}
	}
	switch q.Username[len(q.Username)-2:] {
	case "13":
		return fetcher.Page{}, &fetcher.StatusError{Code: 502}
	case "27":
		return fetcher.Page{Next: "more", Tweets: []fetcher.Tweet{post(now)}}, nil
	case "44":
		var pg fetcher.Page
		for n := range 20 {
			pg.Tweets = append(pg.Tweets, post(began.Add(-12*time.Hour-time.Duration(n)*10*time.Minute)))
		}
		return pg, nil
	case "00":
		return fetcher.Page{Tweets: []fetcher.Tweet{post(now.Add(-5 * time.Second))}}, nil
	}
	return fetcher.Page{}, nil
}

func (platform) Search(context.Context, fetcher.SearchQuery) (fetcher.Page, error) {
	return fetcher.Page{}, nil
}
