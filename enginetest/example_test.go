package enginetest_test

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/webhook"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/enginetest/check"
	"github.com/streamwatch/streamwatch/fetcher"
)

// The two ends, and by hand the work of an engine: read the platform, send the new
// posts, and let Check say whether all arrived.
func Example() {
	platform := enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"nasa", "esa"}})
	receiver := enginetest.NewReceiver(enginetest.ReceiverConfig{
		Secret: "whsec_of_this_example_alone",
		Answer: enginetest.FailFirst(1, 1),
	})
	watch := check.Watch{MonitorID: "mon_1", Accounts: []string{"nasa"}, Since: time.Now().Add(-time.Minute)}

	platform.Post("nasa", "Lift-off")
	platform.Post("esa", "Nobody watches this")

	page, err := platform.Timeline(context.Background(), fetcher.TimelineQuery{Username: "nasa"})
	if err != nil {
		fmt.Println(err)
		return
	}
	sender, err := webhook.New(webhook.Config{Transport: receiver.RoundTripper()})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, post := range page.Tweets {
		event := deliver.Event{
			ID:             deliver.EventID(watch.MonitorID, post.ID),
			Source:         deliver.Source{Kind: deliver.SourceMonitor, ID: watch.MonitorID},
			TweetID:        post.ID,
			AuthorUsername: post.Username,
			PublishedAt:    post.PublishedAt,
			DetectedAt:     time.Now(),
		}
		event.Body = deliver.AppendBody(nil, &event, &post)
		d := deliver.Delivery{
			ID:       deliver.DeliveryID(event.ID, "wh_1"),
			Event:    &event,
			Endpoint: deliver.Endpoint{ID: "wh_1", URL: "https://example.com/hook", Secret: "whsec_of_this_example_alone"},
		}
		for range 2 {
			result := sender.Send(context.Background(), &d)
			fmt.Println("answer", result.StatusCode)
		}
	}

	report := check.Check(platform.Posted(), []check.Watch{watch}, receiver.Deliveries())
	fmt.Println("posted", report.Posted, "delivered", report.Delivered, "error", report.Err())
	// Output:
	// answer 500
	// answer 200
	// posted 1 delivered 1 error <nil>
}

// A client of the Mastodon API can be tested over HTTP in any language: serve
// the platform on a port, or, in Go, call it in process.
func ExamplePlatform_Handler() {
	platform := enginetest.NewPlatform(enginetest.PlatformConfig{
		Accounts: []string{"nasa"},
		Faults:   enginetest.Faults{ServerError: 0.5},
		Seed:     4,
	})
	// http.ListenAndServe("localhost:8080", platform.Handler())
	client := &http.Client{Transport: platform.RoundTripper()}
	for range 4 {
		resp, err := client.Get("http://localhost:8080/api/v1/accounts/lookup?acct=nasa")
		if err != nil {
			fmt.Println(err)
			return
		}
		resp.Body.Close()
		fmt.Println(resp.Status)
	}
	fmt.Println("server errors:", platform.Stats().ServerError)
	// Output:
	// 503 Service Unavailable
	// 503 Service Unavailable
	// 503 Service Unavailable
	// 200 OK
	// server errors: 3
}
