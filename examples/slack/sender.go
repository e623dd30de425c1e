package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/webhook"
)

// sender sends deliveries as messages in the form of
// https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks.
// Messages to Slack have no ids. A message that is sent again after a lost answer is shown twice.
type sender struct {
	scheme    string // of the requests: https
	transport *http.Transport
}

// newSender returns a sender. The guard checks its connections, as it does for webhooks.
func newSender(scheme string, guard *webhook.Guard) *sender {
	return &sender{scheme, &http.Transport{
		DialContext: guard.DialContext, TLSHandshakeTimeout: 10 * time.Second, IdleConnTimeout: time.Minute,
		MaxResponseHeaderBytes: 16 << 10, DisableCompression: true,
	}}
}

func (s *sender) close() { s.transport.CloseIdleConnections() }

// Send implements deliver.Sender. The dispatcher bounds its time by ctx.
func (s *sender) Send(ctx context.Context, d *deliver.Delivery) deliver.Result {
	post, err := deliver.ParseBody(d.Event.Body)
	if err != nil {
		return deliver.Result{Permanent: true, Error: "not an event: " + err.Error()}
	}
	body, err := json.Marshal(map[string]string{"text": message(&post)})
	if err != nil {
		return deliver.Result{Permanent: true, Error: err.Error()}
	}
	_, rest, _ := strings.Cut(d.Endpoint.URL, ":")
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.scheme+":"+rest, bytes.NewReader(body))
	if err != nil {
		return deliver.Result{Permanent: true, Error: "url not allowed"} // err has the URL, which is a credential
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := s.transport.RoundTrip(req) // follows no redirect
	if err != nil {
		return deliver.Result{Error: trouble(ctx, err)}
	}
	defer resp.Body.Close()
	answer, _ := io.ReadAll(io.LimitReader(resp.Body, 4<<10))
	r := deliver.Result{OK: resp.StatusCode == http.StatusOK, StatusCode: resp.StatusCode, ResponsePreview: strings.ToValidUTF8(string(answer), "?")}
	if r.OK {
		return r
	}
	r.Error = "status " + strconv.Itoa(r.StatusCode)
	switch r.StatusCode {
	case http.StatusTooManyRequests:
		seconds, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
		r.RetryAfter = min(max(0, time.Duration(seconds)), 3600) * time.Second
	case http.StatusBadRequest, http.StatusForbidden, http.StatusNotFound, http.StatusGone:
		r.Permanent = true // the message is not allowed or the channel is gone: no retry helps
	}
	return r
}

// trouble returns the text of an error for the delivery log. The endpoint's owner reads it, so it
// contains no address.
func trouble(ctx context.Context, err error) string {
	var dns *net.DNSError
	switch {
	case ctx.Err() != nil:
		return "timeout"
	case errors.Is(err, webhook.ErrAddressNotAllowed):
		return "address not allowed"
	case errors.As(err, &dns):
		return "host look-up failed"
	}
	return "no valid answer"
}

// message returns the text in Slack's markup: & < > are escaped, and the text of a link follows a bar.
func message(p *deliver.Detected) string {
	escape := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace
	return "*@" + escape(p.AuthorUsername) + "*: " + escape(p.TweetText) + "\n<" + escape(p.TweetURL) + "|open>"
}
