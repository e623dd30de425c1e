package poll

import (
	"context"
	"errors"
	"net"
	"net/url"
	"strings"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/internal/invalid"
)

// maxErrorText is how many bytes of the text of a call's error are kept, logged and shown,
// and maxErrorField how many of a field of an error that it wraps.
const (
	maxErrorText  = 1024
	maxErrorField = 256
)

// heard calls err.Error where a panic in it, as of a nil pointer, still counts as one of the
// call. It returns err itself if the text is short, otherwise a shortened error.
func heard(err error) error {
	if err == nil {
		return nil
	}
	if text := err.Error(); len(text) > maxErrorText {
		return shortened{strings.ToValidUTF8(text[:maxErrorText], "") + " …", known(err)}
	}
	return err
}

// shortened has the beginning of a long text, and of the error what known returns: each
// failing target keeps its last error in memory.
type shortened struct {
	text  string
	wraps []error
}

func (s shortened) Error() string   { return s.text }
func (s shortened) Unwrap() []error { return s.wraps }

// sentinels are errors that the engine and its users look for with errors.Is.
var sentinels = []error{fetcher.ErrNotFound, fetcher.ErrUnauthorized, fetcher.ErrProtected, fetcher.ErrMalformed,
	fetcher.ErrUnsupported, context.Canceled, context.DeadlineExceeded}

// known returns copies of the errors that the engine and its users look for in err, which
// keep nothing else of it in memory.
func known(err error) (found []error) {
	if e := as[*fetcher.RateLimitError](err); e != nil {
		found = append(found, &fetcher.RateLimitError{RetryAfter: e.RetryAfter, Target: e.Target, All: e.All, Reason: cut(e.Reason)})
	}
	if e := as[*fetcher.StatusError](err); e != nil {
		found = append(found, &fetcher.StatusError{Code: e.Code, RetryAfter: e.RetryAfter, Detail: cut(e.Detail)})
	}
	if e := as[*fetcher.ArgumentError](err); e != nil {
		found = append(found, &fetcher.ArgumentError{Package: cut(e.Package), Field: cut(e.Field), Value: cut(e.Value), Allowed: cut(e.Allowed)})
	}
	// Errors of the network: the engine looks for these to hide their hosts from owners.
	if e := as[*url.Error](err); e != nil {
		found = append(found, &url.Error{Op: cut(e.Op), URL: cut(e.URL), Err: flat(e.Err)})
	}
	if e := as[*net.OpError](err); e != nil {
		found = append(found, &net.OpError{Op: cut(e.Op), Net: cut(e.Net), Err: flat(e.Err)})
	}
	if e := as[*net.DNSError](err); e != nil {
		found = append(found, &net.DNSError{Err: cut(e.Err), Name: cut(e.Name), Server: cut(e.Server),
			IsTimeout: e.IsTimeout, IsTemporary: e.IsTemporary, IsNotFound: e.IsNotFound})
	}
	for _, e := range sentinels {
		if errors.Is(err, e) {
			found = append(found, e)
		}
	}
	return found
}

// as returns the first error of a type that err wraps, nil for none.
func as[E error](err error) (found E) {
	errors.As(err, &found)
	return found
}

// flat returns an error that has the beginning of err's text, and wraps nothing.
func flat(err error) error {
	if err == nil {
		return errors.New("unknown")
	}
	return errors.New(cut(err.Error()))
}

// cut copies the beginning of a field.
func cut(s string) string { return strings.Clone(invalid.Cut(s, maxErrorField)) }
