package endpoints

import (
	"context"
	"crypto/rand"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/internal/invalid"
	"github.com/streamwatch/streamwatch/internal/netguard"
)

// maxTests bounds the test calls under way in total, and maxTestsOfOwner those of one owner, since
// receivers may hang. Further calls wait.
const maxTests, maxTestsOfOwner = 64, 4

// TestResult is the result of a test call.
type TestResult struct {
	deliver.Result
	DeliveryID string        // X-Delivery-Id of the call
	Duration   time.Duration // until the answer was read
}

// Test sends a made-up post to an endpoint once, with the sender and the signatures of a delivery.
// The endpoint may be disabled. The body has "test":true. The call is not in the delivery log. A
// refusal by the receiver is no error: see TestResult.OK.
func (m *Manager) Test(ctx context.Context, owner, id string) (TestResult, error) {
	e, err := m.readOpen(ctx, owner, id)
	if err != nil {
		return TestResult{}, err
	}
	leave, err := m.tests.enter(ctx, owner)
	if err != nil {
		return TestResult{}, err
	}
	defer leave()
	var sender deliver.Sender
	if u, err := url.Parse(e.URL); err == nil {
		sender = m.cfg.Dispatcher.Sender(u.Scheme)
	}
	if sender == nil {
		return TestResult{}, invalid.Field("deliver", "webhook_url", netguard.RedactURL(e.URL), "a scheme that has a sender")
	}
	dv := sampleDelivery(e, m.now())
	began := time.Now()
	r := sender.Send(ctx, &dv)
	took := time.Since(began)
	return TestResult{Result: r, DeliveryID: dv.ID, Duration: took}, nil
}

// testCalls limits the concurrent test calls.
type testCalls struct {
	all    chan struct{}
	mu     sync.Mutex
	owners map[string]*ownerCalls // the owners of calls that wait or are under way
}

type ownerCalls struct {
	slots chan struct{}
	calls int
}

// enter waits until another test call is allowed, by the bounds for the owner and in total. The
// caller must call leave when its call has ended.
func (t *testCalls) enter(ctx context.Context, owner string) (leave func(), err error) {
	t.mu.Lock()
	o := t.owners[owner]
	if o == nil {
		o = &ownerCalls{slots: make(chan struct{}, maxTestsOfOwner)}
		t.owners[owner] = o
	}
	o.calls++
	t.mu.Unlock()
	forget := func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if o.calls--; o.calls == 0 {
			delete(t.owners, owner)
		}
	}
	select {
	case o.slots <- struct{}{}:
	case <-ctx.Done():
		forget()
		return nil, ctx.Err()
	}
	select {
	case t.all <- struct{}{}:
	case <-ctx.Done():
		<-o.slots
		forget()
		return nil, ctx.Err()
	}
	return func() {
		<-t.all
		<-o.slots
		forget()
	}, nil
}

// sampleDelivery returns a delivery of a made-up post.
func sampleDelivery(e deliver.Endpoint, now time.Time) deliver.Delivery {
	const id, author, text = "1000000000000000000", "streamwatch", "This is a test of your webhook. <3 & Zażółć 🛰"
	ev := deliver.Event{
		ID: "evt_test" + strings.ToLower(rand.Text()), Source: e.Source, TweetID: id, AuthorUsername: author, TextPreview: text,
		TweetURL: "https://example.com/" + author + "/status/" + id, PublishedAt: now, DetectedAt: now,
	}
	post := fetcher.Tweet{ID: id, Text: text, FullText: text, CreatedAt: fetcher.FormatTime(now), Lang: "en", UserID: "1", Username: author, UserName: "Streamwatch"}
	const head = `{"event":"tweet.detected"`
	b := deliver.AppendBody(nil, &ev, &post)
	ev.Body = append([]byte(head+`,"test":true`), b[len(head):]...)
	return deliver.Delivery{ID: deliver.DeliveryID(ev.ID, e.ID), EndpointID: e.ID, Event: &ev, State: deliver.StatePending, CreatedAt: now, Endpoint: e}
}
