package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/webhook"
	"github.com/streamwatch/streamwatch/fetcher"
)

// demo serves on a loopback port and sends the kinds of requests that a receiver must expect.
func demo(ctx context.Context, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	secret := deliver.GenerateSecret()
	handler, err := newHandler([]deliver.Secret{secret}, out)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, listener, handler) }()
	err = sendDemo(ctx, "http://"+listener.Addr().String()+"/webhook", secret, out)
	cancel()
	return errors.Join(err, <-ended)
}

func sendDemo(ctx context.Context, url string, secret deliver.Secret, out io.Writer) error {
	hook, err := webhook.New(webhook.Config{AllowPrivate: true})
	if err != nil {
		return err
	}
	defer hook.Close()
	for _, request := range []struct {
		what, id string
		secret   deliver.Secret
		want     int
	}{
		{"a new post", "dlv_1", secret, 204},
		{"the same delivery again", "dlv_1", secret, 204},
		{"a post signed by somebody else", "dlv_2", deliver.GenerateSecret(), 401},
	} {
		fmt.Fprintf(out, "sending %s\n", request.what)
		d := delivery(request.id)
		d.Endpoint = deliver.Endpoint{ID: "whk_demo", URL: url, Secret: request.secret}
		r := hook.Send(ctx, d)
		fmt.Fprintf(out, "answered %d\n", r.StatusCode)
		if r.StatusCode != request.want {
			return fmt.Errorf("%s was answered %d (%s), want %d", request.what, r.StatusCode, r.Error, request.want)
		}
	}
	return nil
}

// delivery returns the delivery that the engine would make of a post that is 250 ms old.
func delivery(id string) *deliver.Delivery {
	now := time.Now()
	post := fetcher.Tweet{ID: "1000000000000000000", Text: "T-0: liftoff! 🚀", Username: "nasa", UserName: "NASA"}
	e := &deliver.Event{
		ID: "evt_1", Source: deliver.Source{Kind: deliver.SourceMonitor, ID: "mon_1", Name: "space"}, TweetID: post.ID, AuthorUsername: post.Username,
		TweetURL: "https://example.com/nasa/status/" + post.ID, PublishedAt: now.Add(-250 * time.Millisecond), DetectedAt: now, Latency: 250 * time.Millisecond,
	}
	e.Body = deliver.AppendBody(nil, e, &post)
	return &deliver.Delivery{ID: id, EndpointID: "whk_demo", Event: e}
}
