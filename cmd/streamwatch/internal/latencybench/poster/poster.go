package poster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/secret"
)

// Posted is what the platform says of a post that it has published.
type Posted struct {
	ID string    // "" if it says none
	At time.Time // by the platform's clock; zero if it does not say
}

// A Poster publishes posts. Its methods are safe for concurrent use.
type Poster interface {
	// Accounts returns the names of the accounts that it posts as; "" is an unknown one.
	Accounts() []string
	// Post publishes a text as one of the accounts, and returns when the platform says
	// that it has.
	Post(ctx context.Context, account int, text string) (Posted, error)
	// Delete takes a post back. It is errors.ErrUnsupported where there is no way.
	Delete(ctx context.Context, id string) error
	Limits() Limits
}

// Limits bound what a run may ask of a platform.
type Limits struct {
	Posts    int           // in a run
	Deleted  int           // posts of a run that deletes them
	Gap      time.Duration // between two posts, and two deletions
	InFlight int           // posts under way at once; with 1 the runner waits for each
}

// caller makes the requests to a foreign platform.
type caller struct {
	platform string
	base     string
	http     *http.Client
}

const (
	callTimeout = 30 * time.Second
	maxAnswer   = 1 << 20 // bytes
	userAgent   = "streamwatch-bench/1 (+https://github.com/streamwatch/streamwatch)"
)

// newCaller checks the server's address.
func newCaller(platform, server string, client *http.Client) (*caller, error) {
	u, err := url.Parse(server)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Scheme != "https" && u.Scheme != "http" {
		return nil, fmt.Errorf("poster: %s server %q is not allowed: want https:// and a host", platform, server)
	}
	if client == nil {
		client = &http.Client{Timeout: callTimeout}
	}
	own := *client
	// A token goes to the server it is for, and nowhere else.
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &caller{platform, strings.TrimSuffix(server, "/"), &own}, nil
}

// statusError is an answer other than 2xx.
type statusError struct {
	platform string
	code     int
	detail   string
}

func (e *statusError) Error() string {
	return fmt.Sprintf("poster: %s answers %d: %s", e.platform, e.code, e.detail)
}

// call makes a request and decodes the answer into out, unless that is nil.
func (c *caller) call(ctx context.Context, method, path string, token secret.Value, header http.Header, body []byte, out any) error {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("poster: %s: %w", c.platform, err)
	}
	for name, values := range header {
		req.Header[name] = values
	}
	req.Header.Set("User-Agent", userAgent)
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+string(token))
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return fmt.Errorf("poster: %s: %w", c.platform, err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("poster: %s: %w", c.platform, err)
	}
	if resp.StatusCode/100 != 2 {
		detail := string(answer[:min(len(answer), 200)])
		if token != "" {
			detail = strings.ReplaceAll(detail, string(token), secret.Redacted)
		}
		return &statusError{c.platform, resp.StatusCode, detail}
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(answer, out); err != nil {
		return fmt.Errorf("poster: %s: answer: %w", c.platform, err)
	}
	return nil
}

// errNoID is the error of a 2xx answer that does not tell the post's id.
var errNoID = errors.New("the answer has no id: whether the post was published is not known")
