package xapi

import (
	"encoding/json"
	"errors"
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

// legacyRateLimit is the code of a rate limit in errors of the API's first version.
const legacyRateLimit = 88

// problem is an error as X writes it: whole, or an element of "errors". The first
// version of the API has Code and Message.
type problem struct {
	Type            string          `json:"type"`
	Title           string          `json:"title"`
	Detail          string          `json:"detail"`
	Status          count           `json:"status"`
	Reason          string          `json:"reason"`
	ResourceID      ident           `json:"resource_id"`
	ResourceType    string          `json:"resource_type"`
	Parameter       string          `json:"parameter"`
	Value           ident           `json:"value"`
	Section         string          `json:"section"`
	Period          string          `json:"period"`           // of usage-capped
	ConnectionIssue string          `json:"connection_issue"` // of streaming-connection
	DisconnectType  string          `json:"disconnect_type"`  // of operational-disconnect
	Code            count           `json:"code"`
	Message         string          `json:"message"`
	Parameters      json.RawMessage `json:"parameters"` // the values of each parameter that is refused
	ID              ident           `json:"id"`         // of duplicate-rules: the rule that there is
	Errors          []problem       `json:"errors"`
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

// overLimit reports whether a problem is a rate limit of the API's first version.
func (p *problem) overLimit() bool {
	for i := range p.Errors {
		if p.Errors[i].Code == legacyRateLimit {
			return true
		}
	}
	return p.Code == legacyRateLimit
}

// names reports whether a problem is about one of the parameters that match.
func (p *problem) names(match func(parameter string) bool) bool {
	if p.Parameter != "" && match(p.Parameter) {
		return true
	}
	var parameters map[string]json.RawMessage
	if json.Unmarshal(p.Parameters, &parameters) == nil {
		for name := range parameters {
			if match(name) {
				return true
			}
		}
	}
	for i := range p.Errors {
		if p.Errors[i].names(match) {
			return true
		}
	}
	return false
}

// decodeProblem reads an answer that is an error; one that is no JSON object is empty.
func decodeProblem(body []byte) problem {
	var p problem
	lenient(json.Unmarshal(body, &p))
	return p
}

// lenient passes on an error of JSON's syntax alone: a member of another type than it
// should have is left out, and the others count.
func lenient(err error) error {
	var other *json.UnmarshalTypeError
	if errors.As(err, &other) {
		return nil
	}
	return err
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
	p := decodeProblem(head)
	detail := upstream.Detail(string(head), token)
	if text := p.text(); text != "" {
		detail = upstream.Detail(text, token)
	}
	rate := upstream.ParseRateLimit(resp.Header, now)
	after, _ := upstream.ParseRetryAfter(resp.Header.Get("Retry-After"), now)
	status := &fetcher.StatusError{Code: resp.StatusCode, RetryAfter: after, Detail: detail}
	if p.overLimit() {
		return tooMany(&p, rate, after, now)
	}
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
