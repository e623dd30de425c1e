package fetcher

import (
	"errors"
	"fmt"
	"time"

	"github.com/streamwatch/streamwatch/internal/invalid"
)

// Errors of a Fetcher that the engine handles in a special way. Wrap them with %w to add
// detail. After any other error, the engine polls the target again after a pause that grows
// with each failure.
var (
	// ErrNotFound: the account, post or page does not exist (any more).
	ErrNotFound = errors.New("fetcher: not found")
	// ErrUnauthorized: the platform refused the credentials.
	ErrUnauthorized = errors.New("fetcher: unauthorized")
	// ErrProtected: the account exists but its posts are private, or it is suspended.
	ErrProtected = errors.New("fetcher: protected")
	// ErrMalformed: the answer could not be decoded, for example HTML in place of JSON, a body
	// that is cut short, or a body over the size limit.
	ErrMalformed = errors.New("fetcher: malformed answer")
	// ErrUnsupported: the platform does not offer this kind of call. The engine does not make
	// such a call again until the program is restarted.
	ErrUnsupported = errors.New("fetcher: not offered by the platform")
	// ErrResubscribe: a Streamer must reconnect to subscribe to other accounts. It
	// does not count as a failure.
	ErrResubscribe = errors.New("fetcher: the stream has to be opened again for other accounts")
)

// RateLimitError reports that the platform refused a call because of a rate limit. The engine
// stores a wait of 10 s or more and also waits after a restart, unless Target is set.
type RateLimitError struct {
	// RetryAfter is how long to wait; 0 if the platform did not say. The engine waits at most
	// 15 minutes and then calls again. If the adapter still must not ask the platform, it
	// returns another RateLimitError with the rest of the wait.
	RetryAfter time.Duration
	// Target means that only the polled target must wait. If Target and All are both false, all
	// calls of the same bucket wait. Without a Bucketer, all calls of the Fetcher wait.
	Target bool
	// All means that all calls of the Fetcher must wait, in every bucket, for example because
	// credits are used up. The engine ignores All if Target is set.
	All bool
	// Reason names the limit if the platform has several, or tells an operator the problem,
	// such as "the account's credits are used up". It may be "".
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

// RetryAfter returns the field RetryAfter of the first *RateLimitError in err's tree, or else
// of the first *StatusError; 0 if there is neither.
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

// StatusError reports an HTTP answer outside 2xx for which this package has no other error.
type StatusError struct {
	Code int
	// RetryAfter is how long the server asked the client to wait, 0 if it did not. The engine
	// waits as for a RateLimitError.
	RetryAfter time.Duration
	// Detail is the start of the body on one line, at most 256 bytes.
	Detail string
}

func (e *StatusError) Error() string {
	if e.Detail == "" {
		return fmt.Sprintf("fetcher: status %d", e.Code)
	}
	return fmt.Sprintf("fetcher: status %d: %s", e.Code, e.Detail)
}

// ArgumentError reports an argument that an adapter refuses before it makes a request. Field is
// the argument's name in the interface, such as "url". Value is the argument, shortened; a URL
// has no password and query.
type ArgumentError = invalid.FieldError

// PageError reports that a web page cannot be read because of the page itself. Reason is for
// the caller; the operator need not do anything.
type PageError struct {
	// Reason says what is wrong with the page. Because the caller sees it, it must not describe
	// the service's own network.
	Reason string
	// Refused means that pages of this kind are never read, so a retry is useless.
	Refused bool
	// Err is the sentinel error of this package that describes the failure, or nil.
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
