package deliver

import (
	"context"
	"crypto/rand"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// maxTests bounds the test calls under way; more wait.
const maxTests = 16

// TestResult is what came of a test call.
type TestResult struct {
	Result
	DeliveryID string        // X-Delivery-Id of the call
	Duration   time.Duration // until the answer was read
}

// Test sends a made-up post to an endpoint, once, through the client that
// deliveries take and signed like them; the body has "test":true and ends up in
// no log. A disabled endpoint gets it, too. That the receiver refused it is no
// error: see TestResult.OK.
func (m *EndpointManager) Test(ctx context.Context, owner, id string) (TestResult, error) {
	e, err := m.cfg.Store.Get(ctx, owner, id)
	if err != nil {
		return TestResult{}, err
	}
	select {
	case m.tests <- struct{}{}:
		defer func() { <-m.tests }()
	case <-ctx.Done():
		return TestResult{}, ctx.Err()
	}
	d := m.cfg.Dispatcher
	sender, _ := d.sender(e.URL)
	if sender == nil {
		return TestResult{}, &FieldError{"webhook_url", redactURL(e.URL), "a scheme that has a sender"}
	}
	dv := sampleDelivery(e, m.now())
	ctx, cancel := context.WithTimeout(ctx, d.cfg.Timeout)
	defer cancel()
	began := time.Now()
	r := send(ctx, sender, &dv)
	return TestResult{Result: r, DeliveryID: dv.ID, Duration: time.Since(began)}, nil
}

// sampleDelivery is a delivery of a post that does not exist.
func sampleDelivery(e Endpoint, now time.Time) Delivery {
	const id, author, text = "1000000000000000000", "streamwatch", "This is a test of your webhook. <3 & Zażółć 🛰"
	ev := Event{
		ID: "evt_test" + strings.ToLower(rand.Text()), Source: e.Source, TweetID: id, AuthorUsername: author, TextPreview: text,
		TweetURL: "https://example.com/" + author + "/status/" + id, PublishedAt: now, DetectedAt: now,
	}
	post := fetcher.Tweet{ID: id, Text: text, FullText: text, Lang: "en", UserID: "1", Username: author, UserName: "Streamwatch"}
	const head = `{"event":"` + eventTweetDetected + `"`
	b := AppendBody(nil, &ev, &post)
	ev.Body = append([]byte(head+`,"test":true`), b[len(head):]...)
	return Delivery{ID: DeliveryID(ev.ID, e.ID), EndpointID: e.ID, Event: &ev, State: StatePending, CreatedAt: now, Endpoint: e}
}
