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

// maxProblem is the number of bytes read of an error answer.
const maxProblem = 64 << 10

// The shortest waits after credits are used up and after a usage cap is reached.
const (
	creditsWait = 15 * time.Minute
	cappedWait  = time.Hour
)

// problem is an error in X's format. It is a whole answer, or an element of "errors" in an
// answer. Errors of API version 1 and errors about parameters have only a Message.
type problem struct {
	Type            string    `json:"type"`
	Title           string    `json:"title"`
	Detail          string    `json:"detail"`
	ResourceID      string    `json:"resource_id"`
	ResourceType    string    `json:"resource_type"`
	Value           string    `json:"value"`
	Period          string    `json:"period"`           // only in usage-capped
	ConnectionIssue string    `json:"connection_issue"` // only in streaming-connection
	DisconnectType  string    `json:"disconnect_type"`  // only in operational-disconnect
	Message         string    `json:"message"`
	Errors          []problem `json:"errors"`
}

// kind returns the last segment of the URL in Type, such as "resource-not-found". The rest
// differs between old and new answers. A Type without a slash is returned unchanged.
func (p *problem) kind() string {
	return p.Type[strings.LastIndexByte(p.Type, '/')+1:]
}

// text returns the problem's message: its detail, message, title, first error or kind.
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

// invalidRequest is the error for a status 400, for example because of a bad parameter.
type invalidRequest struct {
	problem problem
	status  *fetcher.StatusError
}

func (e *invalidRequest) Error() string { return e.status.Error() }
func (e *invalidRequest) Unwrap() error { return e.status }

// answerError returns the error for an answer outside 2xx. head is the start of its body.
func answerError(resp *http.Response, head []byte, now time.Time, token secret.Value) error {
	var p problem
	_ = json.Unmarshal(head, &p) // p stays empty if head is not a JSON object
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

// forbidden returns the error for a 403: ErrProtected for an account that cannot be read,
// *RateLimitError for a usage cap, otherwise ErrUnauthorized.
func forbidden(p *problem, after time.Duration, detail string) error {
	switch p.kind() {
	case "not-authorized-for-resource", "disallowed-resource", "resource-unavailable":
		return fmt.Errorf("%w: %s", fetcher.ErrProtected, detail)
	case "usage-capped":
		return capped(p, after)
	}
	return fmt.Errorf("%w: %s", fetcher.ErrUnauthorized, detail)
}

// gone returns ErrProtected if a missing account is suspended, otherwise ErrNotFound.
func gone(p *problem) error {
	if strings.Contains(strings.ToLower(p.Detail), "suspended") {
		return fetcher.ErrProtected
	}
	return fetcher.ErrNotFound
}

// capped returns the error for a usage cap. A cap lasts until the end of a month or of a
// contract.
func capped(p *problem, after time.Duration) error {
	reason := "the cap on posts is reached"
	if p.Period != "" {
		reason += " (" + upstream.Detail(p.Period, "") + ")"
	}
	return &fetcher.RateLimitError{RetryAfter: max(after, cappedWait), All: true, Reason: reason}
}

// tooManyConnections is the Reason of the error for a stream beyond the allowed number.
const tooManyConnections = "too many connections of the stream are open"

// tooMany returns the error for a 429: a usage cap, too many connections of a stream, or the
// endpoint's rate limit.
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
