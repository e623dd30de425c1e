package poll

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"runtime"
	"strings"
	"testing"
	"time"
	"unsafe"
	"weak"

	"github.com/streamwatch/streamwatch/fetcher"
)

// longError is what an adapter may return that keeps a whole answer.
type longError struct {
	body []byte
	err  error
}

func (e *longError) Error() string { return string(e.body) }
func (e *longError) Unwrap() error { return e.err }

// Of a long error only the beginning of its text is kept, and what the engine tells
// apart: errors of package fetcher, of contexts and of the network, without their long
// fields.
func TestLongErrorIsNotKept(t *testing.T) {
	const size = 1 << 20
	long := strings.Repeat("x", size)
	var rl *fetcher.RateLimitError
	var status *fetcher.StatusError
	var argument *fetcher.ArgumentError
	var request *url.Error
	var op *net.OpError
	var lookup *net.DNSError
	for name, row := range map[string]struct {
		err error
		is  func(error) bool
	}{
		"any":          {errors.New("down"), func(error) bool { return true }},
		"nothing":      {nil, func(error) bool { return true }},
		"not found":    {fetcher.ErrNotFound, func(err error) bool { return errors.Is(err, fetcher.ErrNotFound) }},
		"unauthorized": {fetcher.ErrUnauthorized, func(err error) bool { return errors.Is(err, fetcher.ErrUnauthorized) }},
		"protected":    {fetcher.ErrProtected, func(err error) bool { return errors.Is(err, fetcher.ErrProtected) }},
		"malformed":    {fetcher.ErrMalformed, func(err error) bool { return errors.Is(err, fetcher.ErrMalformed) }},
		"unsupported":  {fetcher.ErrUnsupported, func(err error) bool { return errors.Is(err, fetcher.ErrUnsupported) }},
		"canceled":     {context.Canceled, func(err error) bool { return errors.Is(err, context.Canceled) }},
		"deadline":     {context.DeadlineExceeded, func(err error) bool { return errors.Is(err, context.DeadlineExceeded) }},
		"two of them": {errors.Join(fetcher.ErrMalformed, &fetcher.StatusError{Code: 502}), func(err error) bool {
			return errors.Is(err, fetcher.ErrMalformed) && errors.As(err, &status) && status.Code == 502
		}},
		"a rate limit": {&fetcher.RateLimitError{RetryAfter: time.Minute, All: true, Reason: long}, func(err error) bool {
			return errors.As(err, &rl) && rl.RetryAfter == time.Minute && rl.All && short(rl)
		}},
		"of the target": {&fetcher.RateLimitError{Target: true}, func(err error) bool { return errors.As(err, &rl) && rl.Target && rl.RetryAfter == 0 }},
		"a status": {&fetcher.StatusError{Code: 503, RetryAfter: time.Hour, Detail: long}, func(err error) bool {
			return errors.As(err, &status) && status.Code == 503 && fetcher.RetryAfter(err) == time.Hour && short(status)
		}},
		"an argument":  {&fetcher.ArgumentError{Package: long, Field: long, Value: long, Allowed: long}, func(err error) bool { return errors.As(err, &argument) && short(argument) }},
		"a request":    {&url.Error{Op: long, URL: long, Err: errors.New(long)}, func(err error) bool { return errors.As(err, &request) && short(request) }},
		"a connection": {&net.OpError{Op: long, Net: long, Err: errors.New(long)}, func(err error) bool { return errors.As(err, &op) && short(op) }},
		"a lookup":     {&net.DNSError{Err: long, Name: long, Server: long}, func(err error) bool { return errors.As(err, &lookup) && short(lookup) }},
	} {
		t.Run(name, func(t *testing.T) {
			body, err := func() (weak.Pointer[byte], error) {
				e := &longError{body: []byte("status 500: " + strings.Repeat("y", size)), err: row.err}
				return weak.Make(unsafe.SliceData(e.body)), heard(fmt.Errorf("test: %w", e))
			}()
			if text := err.Error(); len(text) > maxErrorText+10 || !strings.HasPrefix(text, "test: status 500: yyy") {
				t.Errorf("%d bytes %.60q, want the beginning of 1 MB", len(text), text)
			}
			if !row.is(err) {
				t.Errorf("%#v is not what it was", err)
			}
			runtime.GC()
			if body.Value() != nil {
				t.Error("the long error is kept")
			}
			runtime.KeepAlive(err)
		})
	}
	if err := errors.New("down"); heard(err) != err || heard(nil) != nil {
		t.Error("an error with a short text is changed")
	}
}

// short reports whether all that an error says is short.
func short(err error) bool { return len(err.Error()) < 4*maxErrorText }
