package xapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/upstream"
	"github.com/streamwatch/streamwatch/secret"
)

// maxProblem is how much is read of an answer that is an error, in bytes.
const maxProblem = 64 << 10

// Waits that X does not state.
const (
	creditsWait = 15 * time.Minute
	cappedWait  = time.Hour
)

// problem is an error as X writes it: whole, or an element of "errors". Errors of the
// API's first version, and of parameters, have a Message alone.
type problem struct {
	Type            string    `json:"type"`
	Title           string    `json:"title"`
	Detail          string    `json:"detail"`
	ResourceID      string    `json:"resource_id"`
	ResourceType    string    `json:"resource_type"`
	Value           string    `json:"value"`
	Period          string    `json:"period"`           // of usage-capped
	ConnectionIssue string    `json:"connection_issue"` // of streaming-connection
	DisconnectType  string    `json:"disconnect_type"`  // of operational-disconnect
	Message         string    `json:"message"`
	Errors          []problem `json:"errors"`
}

// kind is the last segment of the type, such as "resource-not-found": the part before
// it differs between the generations of names. A type that is a word is one.
func (p *problem) kind() string {
	return p.Type[strings.LastIndexByte(p.Type, '/')+1:]
}

// text is what a problem says, in one line.
func (p *problem) text() string {
	for _, s := range []string{p.Detail, p.Message, p.Title} {
		if s != "" {
			return s
		}
	}
	if len(p.Errors) > 0 {
		return p.Errors[0].text()
	}
	return p.kind()
}

// invalidRequest is a request that X refuses for a parameter's sake.
type invalidRequest struct {
	problem problem
	status  *fetcher.StatusError
}

func (e *invalidRequest) Error() string { return e.status.Error() }
func (e *invalidRequest) Unwrap() error { return e.status }

// answerError is what an answer outside 2xx means. head is the start of its body.
func answerError(resp *http.Response, head []byte, now time.Time, token secret.Value) error {
	var p problem
	_ = json.Unmarshal(head, &p) // one that is no JSON object stays empty
	detail := upstream.Detail(string(head), token)
	if text := p.text(); text != "" {
		detail = upstream.Detail(text, token)
	}
	rate := upstream.ParseRateLimit(resp.Header, now)
	after, _ := upstream.ParseRetryAfter(resp.Header.Get("Retry-After"), now)
	status := &fetcher.StatusError{Code: resp.StatusCode, RetryAfter: after, Detail: detail}
	switch resp.StatusCode {
	case http.StatusBadRequest:
		return &invalidRequest{p, status}
	case http.StatusUnauthorized:
		return fmt.Errorf("%w: %s", fetcher.ErrUnauthorized, detail)
	case http.StatusPaymentRequired:
		return &fetcher.RateLimitError{RetryAfter: max(after, creditsWait), All: true,
			Reason: "the account's credits are used up (402): buy more in X's developer console"}
	case http.StatusForbidden:
		return forbidden(&p, after, detail)
	case http.StatusNotFound, http.StatusGone:
		return fmt.Errorf("%w: %s", gone(&p), detail)
	case http.StatusTooManyRequests:
		return tooMany(&p, rate, after, now)
	}
	return status
}

// forbidden is what a 403 means: by its kind the account's fault, a cap, or that of
// the credentials.
func forbidden(p *problem, after time.Duration, detail string) error {
	switch p.kind() {
	case "not-authorized-for-resource", "disallowed-resource", "resource-unavailable":
		return fmt.Errorf("%w: %s", fetcher.ErrProtected, detail)
	case "usage-capped":
		return capped(p, after)
	}
	return fmt.Errorf("%w: %s", fetcher.ErrUnauthorized, detail)
}

// gone is what an account that is not found is.
func gone(p *problem) error {
	if strings.Contains(strings.ToLower(p.Detail), "suspended") {
		return fetcher.ErrProtected
	}
	return fetcher.ErrNotFound
}

// capped is the error of a cap that a month's or a contract's end lifts.
func capped(p *problem, after time.Duration) error {
	reason := "the cap on posts is reached"
	if p.Period != "" {
		reason += " (" + upstream.Detail(p.Period, "") + ")"
	}
	return &fetcher.RateLimitError{RetryAfter: max(after, cappedWait), All: true, Reason: reason}
}

// tooManyConnections is the Reason of a stream that there are enough connections of.
const tooManyConnections = "too many connections of the stream are open"

// tooMany is which of three things a 429 says: a cap is reached, a stream has too many
// connections, or an endpoint's calls are used up until a time.
func tooMany(p *problem, rate fetcher.RateLimit, after time.Duration, now time.Time) error {
	if p.kind() == "usage-capped" {
		return capped(p, after)
	}
	if p.ConnectionIssue == "TooManyConnections" || p.kind() == "streaming-connection" {
		return &fetcher.RateLimitError{RetryAfter: after, Reason: tooManyConnections}
	}
	if after == 0 && rate.Reset.After(now) && rate.Remaining == 0 {
		after = rate.Reset.Sub(now)
	}
	return &fetcher.RateLimitError{RetryAfter: after}
}
