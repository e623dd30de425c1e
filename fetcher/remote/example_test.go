package remote_test

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/apikey"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/wshub"
	"github.com/streamwatch/streamwatch/enginehttp"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/remote"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/secret"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// otherService is a whole service: it polls a platform, here a fake one with the account
// nasa, has a monitor of it, and offers timelines and WebSocket.
func otherService() (platform *enginetest.Platform, address string, key secret.Value, end func(), err error) {
	ctx := context.Background()
	platform = enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"nasa"}})
	store := memory.New(memory.Options{})
	keys, err := apikey.NewManager(apikey.Config{Records: store.Ports().Records})
	if err != nil {
		return nil, "", "", nil, err
	}
	engine, err := streamwatch.New(streamwatch.Config{
		Fetcher:     platform,
		Store:       store,
		MinInterval: 100 * time.Millisecond,
		WebSocket:   &wshub.Options{Authenticate: enginehttp.WebSocketAuth(keys)},
	})
	if err != nil {
		return nil, "", "", nil, err
	}
	handler, err := enginehttp.New(engine, enginehttp.Options{Auth: keys, Providers: enginehttp.Providers{Timeline: platform}})
	if err != nil {
		return nil, "", "", nil, err
	}
	issued, err := keys.Issue(ctx, apikey.IssueRequest{Owner: "acme", Name: "chain", Scope: apikey.ScopeRead})
	if err != nil {
		return nil, "", "", nil, err
	}
	if err := engine.Start(ctx); err != nil {
		return nil, "", "", nil, err
	}
	_, err = engine.Monitors().Create(ctx, monitor.CreateRequest{Owner: "acme", Name: "space", Usernames: []string{"nasa"}, PollInterval: 100 * time.Millisecond})
	if err != nil {
		return nil, "", "", nil, err
	}
	server := httptest.NewServer(handler)
	end = func() { engine.Shutdown(ctx); server.Close() }
	return platform, server.URL, issued.Secret, end, nil
}

// An engine whose platform is another service: its posts come by the stream, and by
// polls where that does not bring them.
func Example() {
	platform, address, key, end, err := otherService()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer end()

	source, err := remote.New(remote.Config{BaseURL: address, Key: key})
	if err != nil {
		fmt.Println(err)
		return
	}
	stream, err := remote.NewStream(remote.StreamConfig{BaseURL: address, Key: key})
	if err != nil {
		fmt.Println(err)
		return
	}
	found := make(chan deliver.Event, 1)
	engine, err := streamwatch.New(streamwatch.Config{
		Fetcher:     source,
		Roles:       fetcher.Roles{Stream: stream},
		MinInterval: 100 * time.Millisecond,
		OnEvent:     func(_ context.Context, e deliver.Event) error { found <- e; return nil },
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
	_, err = engine.Monitors().Create(ctx, monitor.CreateRequest{Name: "mine", Usernames: []string{"nasa"}, PollInterval: 100 * time.Millisecond})
	if err != nil {
		fmt.Println(err)
		return
	}
	platform.Post("nasa", "Lift-off")
	e := <-found
	fmt.Printf("@%s: %s\n", e.AuthorUsername, e.TextPreview)
	// Output: @nasa: Lift-off
}

// What another service's monitors find, as it finds it. A program keeps Position with
// what it makes of a post, and begins there the next time.
func ExampleStream() {
	platform, address, key, end, err := otherService()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer end()

	stream, err := remote.NewStream(remote.StreamConfig{BaseURL: address, Key: key})
	if err != nil {
		fmt.Println(err)
		return
	}
	enough := errors.New("enough")
	q := fetcher.StreamQuery{Accounts: []fetcher.Account{{Username: "nasa"}, {Username: "esa"}}}
	err = stream.Stream(context.Background(), q, func(s fetcher.Signal) error {
		switch s.Kind {
		case fetcher.SignalUp:
			fmt.Println("brings", s.Accounts)
			platform.Post("nasa", "Lift-off")
		case fetcher.SignalPost:
			fmt.Printf("@%s: %s\n", s.Post.Username, s.Post.Text)
			return enough
		}
		return nil
	})
	fmt.Println(errors.Is(err, enough))
	// Output:
	// brings [{nasa }]
	// @nasa: Lift-off
	// true
}
