package fetcher

import (
	"errors"
	"fmt"
	"time"

	"github.com/streamwatch/streamwatch/internal/invalid"
)

// Errors a Fetcher returns so that the engine knows what to do next. Wrap them
// with %w to add detail. Any other error counts as transient: the target backs
// off and is polled again.
var (
	// ErrNotFound: the account, post or page does not exist (any more).
	ErrNotFound = errors.New("fetcher: not found")
	// ErrUnauthorized: the platform refused the credentials.
	ErrUnauthorized = errors.New("fetcher: unauthorized")
	// ErrProtected: the account exists but its posts are private, or it is
	// suspended.
	ErrProtected = errors.New("fetcher: protected")
	// ErrMalformed: the answer could not be understood: HTML in place of JSON,
	// a cut body, a body over the size cap.
	ErrMalformed = errors.New("fetcher: malformed answer")
	// ErrUnsupported: the platform does not offer what was asked for. It is not
	// asked for again until the program starts anew.
	ErrUnsupported = errors.New("fetcher: not offered by the platform")
	// ErrResubscribe: a Streamer has to connect again for other accounts. It is
	// not a failure.
	ErrResubscribe = errors.New("fetcher: the stream has to be opened again for other accounts")
)

// RateLimitError reports that the platform refused a call because of a rate limit. A wait of
// 10 s and more holds for the next process, too, unless Target is set.
type RateLimitError struct {
	// RetryAfter is how long to wait; 0 when the platform did not say. The engine honours
	// up to 15 minutes of it, and then asks again: an adapter that must not ask the
	// platform by then answers with the rest of the wait.
	RetryAfter time.Duration
	// Target is true when the limit concerns the polled target alone; by
	// default it closes the whole Fetcher until RetryAfter has passed, or the call's
	// bucket where there is a Bucketer.
	Target bool
	// All closes the whole Fetcher, whatever the call's bucket: no call succeeds
	// before RetryAfter has passed, as when credits are used up. Target goes before.
	All bool
	// Reason says which limit, where a platform has several, or what an operator has
	// to do before it opens: "the account's credits are used up". It may be "".
	Reason string
}

func (e *RateLimitError) Error() string {
	text := "fetcher: rate limited"
	if e.Reason != "" {
		text += ": " + e.Reason
	}
	if e.RetryAfter > 0 {
		text += fmt.Sprintf(", retry after %s", e.RetryAfter)
	}
	return text
}

// RetryAfter returns how long err, a *RateLimitError or *StatusError or one that wraps
// these, asks to wait; 0 when it does not say.
func RetryAfter(err error) time.Duration {
	var rl *RateLimitError
	var se *StatusError
	switch {
	case errors.As(err, &rl) && rl != nil:
		return rl.RetryAfter
	case errors.As(err, &se) && se != nil:
		return se.RetryAfter
	}
	return 0
}

// StatusError is an HTTP answer outside 2xx that none of the sentinels covers.
type StatusError struct {
	Code int
	// RetryAfter is how long the server asked to wait, 0 when it did not. It is honoured
	// as that of a RateLimitError.
	RetryAfter time.Duration
	// Detail is the start of the body, at most 256 bytes, one line.
	Detail string
}

func (e *StatusError) Error() string {
	if e.Detail == "" {
		return fmt.Sprintf("fetcher: status %d", e.Code)
	}
	return fmt.Sprintf("fetcher: status %d: %s", e.Code, e.Detail)
}

// ArgumentError reports an argument that an adapter refuses before it makes a
// request: the caller is at fault, not the platform. Field is the name in the
// interface, such as "url"; Value is short, without a password or query.
type ArgumentError = invalid.FieldError

// PageError reports why a web page cannot be read. The page is at fault, neither the
// service nor a platform: the caller is told, and an operator need not be.
type PageError struct {
	// Reason is for the caller: it says what is wrong with the page, and nothing
	// about the service's own network.
	Reason string
	// Refused means that asking again does not help: no page of this kind is read.
	Refused bool
	// Err is the matching error of this package, nil for none.
	Err error
}

func (e *PageError) Error() string {
	if e.Err == nil {
		return "fetcher: " + e.Reason
	}
	return fmt.Sprintf("fetcher: %s: %v", e.Reason, e.Err)
}

// Unwrap returns e.Err.
func (e *PageError) Unwrap() error { return e.Err }
