package main

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/webhook"
)

// sender sends deliveries as messages in the form of
// https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks.
// The webhook sender makes the requests: it guards the addresses and heeds a 429's Retry-After.
// Messages to Slack have no ids. A message that is sent again after a lost answer is shown twice.
type sender struct {
	*webhook.Sender
	scheme string // of the requests: https
}

// Send implements deliver.Sender.
func (s sender) Send(ctx context.Context, d *deliver.Delivery) deliver.Result {
	post, err := deliver.ParseBody(d.Event.Body)
	if err != nil {
		return deliver.Result{Permanent: true, Error: "not an event: " + err.Error()}
	}
	event, message := *d.Event, *d
	if event.Body, err = json.Marshal(map[string]string{"text": text(&post)}); err != nil {
		return deliver.Result{Permanent: true, Error: err.Error()}
	}
	message.Event = &event
	message.Endpoint.URL = s.scheme + strings.TrimPrefix(d.Endpoint.URL, "slack")
	r := s.Sender.Send(ctx, &message)
	switch r.StatusCode {
	case http.StatusBadRequest, http.StatusForbidden, http.StatusNotFound:
		r.Permanent = true // the message is not allowed or the channel is gone: no retry helps
	}
	return r
}

// text returns a message in Slack's markup: & < > are escaped, and the text of a link follows a bar.
func text(p *deliver.Detected) string {
	escape := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace
	return "*@" + escape(p.AuthorUsername) + "*: " + escape(p.TweetText) + "\n<" + escape(p.TweetURL) + "|open>"
}
