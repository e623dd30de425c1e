package enginehttp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/apikey"
	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/endpoints"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/internal/invalid"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule"
	"github.com/streamwatch/streamwatch/rule/query"
)

// failure is an error together with the answer that the client gets.
type failure struct {
	status int
	text   string         // for the client
	cause  error          // for the log; nil if text is enough
	retry  time.Duration  // Retry-After; 0 for none
	more   map[string]any // additional fields of the body
	theirs bool           // a 5xx caused by the client's request: not logged as an error
	store  bool           // the store failed
}

func (f *failure) Error() string { return "enginehttp: " + f.text }

// refused returns the 422 for a value that is not allowed. It shows at most 120 bytes of the
// value.
func refused(field, value, allowed string) error {
	return &failure{status: http.StatusUnprocessableEntity, text: fmt.Sprintf("%s %q is not allowed: want %s", field, cut(value, 120), allowed)}
}

// notFound returns the 404 for an id that is unknown or belongs to another owner.
func notFound(what string) error {
	return &failure{status: http.StatusNotFound, text: what + " not found"}
}

// failureOf returns the answer for an error. Errors that it does not know come from the store.
func failureOf(err error) *failure {
	var f *failure
	if errors.As(err, &f) {
		return f
	}
	var field *invalid.FieldError
	var s *query.SyntaxError
	var quota *streamwatch.QuotaError
	switch {
	case errors.Is(err, streamwatch.ErrNotRunning):
		err = &failure{status: http.StatusServiceUnavailable, text: "the service is shutting down", retry: time.Second}
	case errors.Is(err, apikey.ErrNotFound):
		err = notFound("key")
	case errors.Is(err, apikey.ErrTooMany):
		err = conflict("too many valid keys: revoke one first")
	case errors.As(err, &s):
		err = refused("query", s.Query, "a query of the language: "+strings.TrimPrefix(s.Error(), "rule: "))
	case errors.As(err, &field):
		err = refused(field.Wire, field.Value, field.Allowed)
	case errors.As(err, &quota):
		err = &failure{status: http.StatusUnprocessableEntity, text: strings.TrimPrefix(quota.Error(), "streamwatch: ")}
	case errors.Is(err, streamwatch.ErrErasing):
		err = conflict("the account was erased")
	case errors.Is(err, monitor.ErrNotFound):
		err = notFound("monitor")
	case errors.Is(err, deliver.ErrEndpointNotFound):
		err = notFound("webhook")
	case errors.Is(err, endpoints.ErrSourceNotFound):
		err = notFound("monitor or filter rule")
	case errors.Is(err, deliver.ErrSealed): // no Retry-After: trying again soon does not help
		err = &failure{status: http.StatusServiceUnavailable, text: "the secrets of the webhook cannot be opened: the service lacks the key that they were encrypted with", cause: err}
	case errors.Is(err, deliver.ErrReplayNotFound):
		err = notFound("replay")
	case errors.Is(err, deliver.ErrReplayRunning):
		err = conflict("the webhook has a replay of another range that is running: wait until it is done")
	case errors.Is(err, deliver.ErrDeliveryNotFound):
		err = notFound("delivery")
	case errors.Is(err, rule.ErrNotFound):
		err = notFound("filter rule")
	case errors.Is(err, billing.ErrInsufficient):
		err = &failure{status: http.StatusPaymentRequired, text: "credit balance exhausted: it does not cover the next hour of all active monitors and rules together with this one"}
	case errors.Is(err, detect.ErrNoSearcher):
		err = &failure{status: http.StatusNotImplemented, text: "not implemented: this service cannot search, and the query does not name the accounts that its posts come from"}
	case errors.Is(err, monitor.ErrDuplicate):
		err = conflict("a monitor of this name exists already")
	case errors.Is(err, rule.ErrDuplicate):
		err = conflict("a filter rule of this tag exists already")
	case errors.Is(err, deliver.ErrEndpointDuplicate):
		err = conflict("the monitor or rule has a webhook of this URL already")
	case errors.Is(err, monitor.ErrConflict), errors.Is(err, rule.ErrConflict), errors.Is(err, deliver.ErrEndpointConflict):
		err = conflict("changed by another request meanwhile: read it again")
	default:
		return &failure{status: http.StatusServiceUnavailable, text: "the store is unavailable now: try again", cause: err, retry: time.Second, store: true}
	}
	errors.As(err, &f)
	return f
}

func conflict(text string) error { return &failure{status: http.StatusConflict, text: text} }

// upstream returns the answer for a provider's error. what names the requested object. The
// error's text is only logged, because it may name internal hosts.
func upstream(err error, what string) error {
	f := &failure{status: http.StatusBadGateway, text: "the upstream failed: try again later", cause: err}
	var limited *fetcher.RateLimitError
	var own *failure
	var argument *fetcher.ArgumentError
	var page *fetcher.PageError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &own):
		return own
	case errors.As(err, &argument): // for example a URL that the scraper refuses
		return refused(argument.Field, argument.Value, argument.Allowed)
	case errors.As(err, &page):
		f.text, f.theirs = page.Reason, true
		switch {
		case page.Refused:
			f.status = http.StatusUnprocessableEntity
		case errors.Is(err, fetcher.ErrNotFound), errors.Is(err, fetcher.ErrProtected):
			f.status = http.StatusNotFound
		case errors.As(err, &limited):
			f.retry = limited.RetryAfter
		}
	case errors.Is(err, fetcher.ErrNotFound):
		return notFound(what)
	case errors.Is(err, fetcher.ErrProtected):
		return &failure{status: http.StatusNotFound, text: what + " not available: protected, suspended or disallowed"}
	case errors.As(err, &limited):
		f.text, f.retry = "the upstream's rate limit is exceeded: try again later", max(limited.RetryAfter, time.Second)
	case errors.Is(err, context.DeadlineExceeded):
		f.text = "the upstream did not answer in time: try again later"
	case errors.Is(err, fetcher.ErrMalformed):
		f.text = "the upstream's answer could not be understood"
	}
	return f
}

// spend waits until the source's budget allows a call; "" is the first source. Requests and polls
// share that budget.
func (h *Handler) spend(ctx context.Context, source string) error {
	err := h.engine.SpendOn(ctx, source)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, streamwatch.ErrNotRunning):
		return failureOf(err)
	}
	return &failure{status: http.StatusServiceUnavailable, text: "no call to the platform is left now: try again later", cause: err, retry: time.Second}
}

// cut returns s, or its first n bytes and an ellipsis if it is longer.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
