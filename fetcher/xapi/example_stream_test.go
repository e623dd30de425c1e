package xapi_test

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/xapi"
	"github.com/streamwatch/streamwatch/fetcher/xapi/xapitest"
)

// An engine calls Stream; Config.Roles or a Source has the Activity as Roles.Stream.
func ExampleActivity() {
	x := xapitest.New(xapitest.Config{Token: "the app's bearer token"}) // a stand-in for X
	server := httptest.NewServer(x)
	defer server.Close()
	id := x.AddAccount("nasa")

	activity, err := xapi.NewActivity(xapi.ActivityConfig{BaseURL: server.URL, Token: "the app's bearer token"})
	if err != nil {
		fmt.Println(err)
		return
	}
	enough := errors.New("enough")
	q := fetcher.StreamQuery{Accounts: []fetcher.Account{{Username: "nasa", UserID: id}}}
	err = activity.Stream(context.Background(), q, func(g fetcher.Signal) error {
		switch g.Kind {
		case fetcher.SignalUp:
			fmt.Println("up with", len(g.Accounts), "account and", len(x.Streams.Subscriptions()), "subscriptions")
			x.Post("nasa", "We have liftoff")
		case fetcher.SignalPost:
			fmt.Printf("%s: %s, for $%.3f\n", g.Post.Username, g.Post.Text, xapi.Prices().Cost(g.Billed))
			return enough
		}
		return nil
	})
	fmt.Println(errors.Is(err, enough))
	// Output:
	// up with 1 account and 2 subscriptions
	// nasa: We have liftoff, for $0.005
	// true
}

// An engine calls Stream; Config.Roles or a Source has the FilteredStream as
// Roles.SearchStream.
func ExampleFilteredStream() {
	x := xapitest.New(xapitest.Config{Token: "the app's bearer token"}) // a stand-in for X
	server := httptest.NewServer(x)
	defer server.Close()
	x.AddAccount("nasa")

	stream, err := xapi.NewFilteredStream(xapi.FilteredStreamConfig{BaseURL: server.URL, Token: "the app's bearer token"})
	if err != nil {
		fmt.Println(err)
		return
	}
	enough := errors.New("enough")
	q := fetcher.StreamQuery{Queries: []fetcher.SearchQuery{{Query: `"moon landing"`, Type: "Latest"}, {Query: "liftoff min_likes:10", Type: "Latest"}}}
	err = stream.Stream(context.Background(), q, func(g fetcher.Signal) error {
		if g.Kind == fetcher.SignalUp {
			for _, r := range x.Streams.Rules() { // no rule counts likes
				fmt.Println(r.Value, r.Tag)
			}
			return enough
		}
		return nil
	})
	fmt.Println(errors.Is(err, enough))
	// Output:
	// "moon landing" streamwatch:b843b1ea8488368a
	// true
}
