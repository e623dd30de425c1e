package xapi_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/xapi"
	"github.com/streamwatch/streamwatch/fetcher/xapi/xapitest"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/secret"
)

// An engine that watches an account of X, for at most $20 a day.
func Example() {
	x, err := xapi.New(xapi.Config{Token: secret.Value(os.Getenv("X_BEARER_TOKEN"))})
	if err != nil {
		fmt.Println(err)
		return
	}
	engine, err := streamwatch.New(streamwatch.Config{
		Fetcher: x,
		Detect:  detect.Config{Cost: detect.Cost{Prices: xapi.Prices(), Limit: 20}},
		OnEvent: func(_ context.Context, e deliver.Event) error {
			fmt.Println(e.TweetURL)
			return nil
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	if err := engine.Start(ctx); err != nil {
		fmt.Println(err)
		return
	}
	defer engine.Shutdown(ctx)
	_, err = engine.Monitors().Create(ctx, monitor.CreateRequest{Name: "space", Usernames: []string{"nasa"}, PollInterval: 90 * time.Second})
	fmt.Println(err)
}

// What is newer than a time, and what that costs: a post is charged for once a day.
func ExampleFetcher_Timeline() {
	server := xapitest.New(xapitest.Config{}) // stands in for X
	server.AddAccount("ann")
	api := httptest.NewServer(server)
	defer api.Close()

	x, err := xapi.New(xapi.Config{BaseURL: api.URL, Token: "token"})
	if err != nil {
		fmt.Println(err)
		return
	}
	server.Post("ann", "Tea at four")
	for range 2 {
		page, err := x.Timeline(context.Background(), fetcher.TimelineQuery{Username: "ann", Since: time.Now().Add(-time.Hour)})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s: %q for $%.3f\n", page.Tweets[0].Username, page.Tweets[0].Text, xapi.Prices().Cost(page.Billed))
	}
	// Output:
	// ann: "Tea at four" for $0.015
	// ann: "Tea at four" for $0.000
}

// A query that X cannot answer is refused with the reason.
func ExampleFetcher_Search() {
	x, err := xapi.New(xapi.Config{Token: "token"})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = x.Search(context.Background(), fetcher.SearchQuery{Query: `"moon landing" filter:news`, Type: "Latest"})
	fmt.Println(err)
	// Output:
	// xapi: search "\"moon landing\" filter:news": query "\"moon landing\" filter:news" is not allowed: want one that X can search for: filter:news: there is no such operator
}

// The accounts of a list that have posted, at the price of the list's newest posts.
func ExampleNewListProbe() {
	server := xapitest.New(xapitest.Config{})
	ann, bob := server.AddAccount("ann"), server.AddAccount("bob")
	list := server.AddList("ann", "bob")
	api := httptest.NewServer(server)
	defer api.Close()

	x, err := xapi.New(xapi.Config{BaseURL: api.URL, Token: "token"})
	if err != nil {
		fmt.Println(err)
		return
	}
	probe, err := xapi.NewListProbe(x, list, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	server.Post("ann", "Tea at four")
	answer, err := probe.Probe(context.Background(), []fetcher.Account{{Username: "ann", UserID: ann}, {Username: "bob", UserID: bob}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(answer.Marks[0] != fetcher.NoMark, answer.Marks[1] != fetcher.NoMark, answer.Billed.Posts)
	// Output: true false 1
}
