package bluesky

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/streamwatch/streamwatch/fetcher"
)

// maxActors is the largest number of accounts in a call of app.bsky.actor.getProfiles.
const maxActors = 25

var (
	_ fetcher.Prober   = (*Fetcher)(nil)
	_ fetcher.Bucketer = (*Fetcher)(nil)
)

// ProbeLimit returns 25.
func (f *Fetcher) ProbeLimit() int { return maxActors }

// Probe reads the marks of up to 25 accounts from an AppView in one request. A mark is computed
// from the profile's postsCount. This counts posts, replies and quotes, but not reposts, and
// edits do not change it. A new post and a deletion between two probes leave the mark
// unchanged. An account has no mark if it is unknown, deactivated or suspended, or if its name
// is neither a handle nor a DID.
//
// Probe returns ErrUnsupported if Config.PDS is set, because a PDS has no profiles, or if the
// server does not offer the call.
func (f *Fetcher) Probe(ctx context.Context, accounts []fetcher.Account) (fetcher.Probe, error) {
	switch {
	case f.pds != "":
		return fetcher.Probe{}, fmt.Errorf("bluesky: probe of a PDS: %w", fetcher.ErrUnsupported)
	case len(accounts) > maxActors:
		return fetcher.Probe{}, fmt.Errorf("bluesky: a probe of %d accounts is not allowed: want at most %d", len(accounts), maxActors)
	}
	p := fetcher.Probe{Marks: make([]fetcher.Mark, len(accounts))}
	actors := make([]string, len(accounts))
	var asked []string
	for i, a := range accounts {
		if actors[i] = actorOf(a); actors[i] != "" { // one malformed name would fail the call
			asked = append(asked, actors[i])
		}
	}
	if len(asked) == 0 {
		return p, nil
	}
	resp, err := f.client.Get(ctx, xrpcPath("app.bsky.actor.getProfiles", url.Values{"actors": asked}), nil)
	if err != nil {
		return fetcher.Probe{}, fmt.Errorf("bluesky: profiles: %w", notOffered(err))
	}
	defer resp.Release()
	marks, err := profileMarks(resp.Body)
	if err != nil {
		return fetcher.Probe{}, fmt.Errorf("bluesky: profiles: %w", err)
	}
	for i, actor := range actors {
		p.Marks[i] = marks[actor]
	}
	p.RateLimit, p.ServerTime = resp.RateLimit, resp.ServerTime
	return p, nil
}

// notOffered adds ErrUnsupported to err if the server does not offer the method. Such a server
// answers 404 or 501. A PDS without an AppView answers 400 with "No service configured for
// app.bsky.actor.getProfiles". For any other error, notOffered is like xrpcError.
func notOffered(err error) error {
	lacks := errors.Is(err, fetcher.ErrNotFound)
	var status *fetcher.StatusError
	if errors.As(err, &status) {
		_, message := errorBody(status.Detail)
		lacks = status.Code == http.StatusNotImplemented || strings.HasPrefix(message, "No service configured")
	}
	if lacks {
		return fmt.Errorf("%w: %w", fetcher.ErrUnsupported, err)
	}
	return xrpcError(err)
}

// The syntaxes of atproto.com/specs/did and /specs/handle.
var (
	didSyntax    = regexp.MustCompile(`^did:[a-z]+:[a-zA-Z0-9._:%-]*[a-zA-Z0-9._-]$`)
	handleSyntax = regexp.MustCompile(`^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]([a-z0-9-]{0,61}[a-z0-9])?$`)
)

// actorOf returns an account's DID or, if there is none, its handle in lower case. getProfiles
// accepts both. It returns "" if the account has no valid DID or handle.
func actorOf(a fetcher.Account) string {
	if did := didOf(a); did != "" {
		return did
	}
	if handle := strings.ToLower(a.Username); len(handle) <= 253 && handleSyntax.MatchString(handle) {
		return handle
	}
	return ""
}

// didOf returns an account's DID from its UserID or Username, or "" if neither is a DID.
func didOf(a fetcher.Account) string {
	for _, s := range []string{a.UserID, a.Username} {
		if isDID(s) && len(s) <= 2048 && didSyntax.MatchString(s) {
			return s
		}
	}
	return ""
}

// profileMarks decodes an answer of getProfiles. It returns a map from both DIDs and handles to
// marks.
func profileMarks(body []byte) (map[string]fetcher.Mark, error) {
	var answer struct {
		Profiles []struct {
			DID        string          `json:"did"`
			Handle     string          `json:"handle"`
			PostsCount json.RawMessage `json:"postsCount"`
		} `json:"profiles"`
	}
	if err := unmarshal(body, &answer); err != nil {
		return nil, fmt.Errorf("%w: %w", fetcher.ErrMalformed, err)
	}
	if answer.Profiles == nil {
		return nil, fmt.Errorf("%w: the answer has no list %q", fetcher.ErrMalformed, "profiles")
	}
	marks := make(map[string]fetcher.Mark, 2*len(answer.Profiles))
	for _, p := range answer.Profiles {
		n, err := strconv.ParseUint(string(p.PostsCount), 10, 32)
		if err != nil { // postsCount is optional
			continue
		}
		mark := fetcher.Mark(n + 1)
		marks[p.DID], marks[strings.ToLower(p.Handle)] = mark, mark
	}
	return marks, nil
}

// Bucket implements fetcher.Bucketer. A server counts all calls of an address together
// (docs.bsky.app/docs/advanced-guides/rate-limits), so the bucket of timelines and probes is "".
func (f *Fetcher) Bucket(fetcher.Call) string { return "" }
