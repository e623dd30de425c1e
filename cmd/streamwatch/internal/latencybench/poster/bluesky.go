package poster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/secret"
)

// BlueskyConfig sets up a Bluesky.
type BlueskyConfig struct {
	Server   string       // the account's PDS, such as https://bsky.social
	Handle   string       // or DID
	Password secret.Value // an app password
	HTTP     *http.Client // defaults to one with 30 s for a call
}

// Bluesky posts as a user of Bluesky, or of another PDS of the AT Protocol.
type Bluesky struct {
	caller   *caller
	handle   string
	password func() secret.Value // a func, like token, so that fmt cannot print it

	mu    sync.Mutex
	did   string
	token func() secret.Value
}

var _ Poster = (*Bluesky)(nil)

const collection = "app.bsky.feed.post"

// NewBluesky begins a session.
func NewBluesky(ctx context.Context, cfg BlueskyConfig) (*Bluesky, error) {
	c, err := newCaller("bluesky", cfg.Server, cfg.HTTP)
	if err != nil {
		return nil, err
	}
	if cfg.Handle == "" || cfg.Password == "" {
		return nil, errors.New("poster: bluesky: the handle or the app password is missing")
	}
	b := &Bluesky{caller: c, handle: cfg.Handle, password: func() secret.Value { return cfg.Password }}
	_, _, err = b.login(ctx)
	return b, err
}

// login begins a session; its token is good for some hours at most.
func (b *Bluesky) login(ctx context.Context) (did string, token secret.Value, err error) {
	body, err := json.Marshal(map[string]string{"identifier": b.handle, "password": string(b.password())})
	if err != nil {
		return "", "", fmt.Errorf("poster: bluesky: %w", err)
	}
	var session struct {
		DID       string `json:"did"`
		AccessJWT string `json:"accessJwt"`
	}
	if err := b.caller.call(ctx, http.MethodPost, "/xrpc/com.atproto.server.createSession", "", jsonHeader(), body, &session); err != nil {
		return "", "", err
	}
	if session.DID == "" || session.AccessJWT == "" {
		return "", "", errors.New("poster: bluesky: the session has no did or no token")
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.did, b.token = session.DID, func() secret.Value { return secret.Value(session.AccessJWT) }
	return b.did, b.token(), nil
}

func jsonHeader() http.Header { return http.Header{"Content-Type": {"application/json"}} }

// Accounts is the user.
func (b *Bluesky) Accounts() []string { return []string{b.handle} }

// Post makes a record. Its time is that of its key, which the PDS makes by its own
// clock; createdAt is the runner's.
func (b *Bluesky) Post(ctx context.Context, _ int, text string) (Posted, error) {
	var made struct {
		URI string `json:"uri"`
	}
	record := map[string]any{"$type": collection, "text": text, "createdAt": time.Now().UTC().Format("2006-01-02T15:04:05.000Z"), "langs": []string{"en"}}
	if err := b.procedure(ctx, "com.atproto.repo.createRecord", map[string]any{"record": record}, &made); err != nil {
		return Posted{}, err
	}
	key := made.URI[strings.LastIndexByte(made.URI, '/')+1:]
	if key == "" {
		return Posted{}, fmt.Errorf("poster: bluesky: %w", errNoID)
	}
	return Posted{ID: made.URI, At: tidTime(key)}, nil
}

// Delete deletes a record, by its at:// URI.
func (b *Bluesky) Delete(ctx context.Context, id string) error {
	return b.procedure(ctx, "com.atproto.repo.deleteRecord", map[string]any{"rkey": id[strings.LastIndexByte(id, '/')+1:]}, nil)
}

// procedure calls a procedure on the account's repository. If it is refused because the
// session has ended, procedure begins a new one and calls again.
func (b *Bluesky) procedure(ctx context.Context, name string, input map[string]any, out any) error {
	b.mu.Lock()
	did, token := b.did, b.token()
	b.mu.Unlock()
	input["repo"], input["collection"] = did, collection
	body, err := json.Marshal(input)
	if err != nil {
		return fmt.Errorf("poster: bluesky: %w", err)
	}
	err = b.caller.call(ctx, http.MethodPost, "/xrpc/"+name, token, jsonHeader(), body, out)
	var status *statusError
	if !errors.As(err, &status) || !strings.Contains(status.detail, "ExpiredToken") {
		return err
	}
	if _, token, err = b.login(ctx); err != nil {
		return err
	}
	return b.caller.call(ctx, http.MethodPost, "/xrpc/"+name, token, jsonHeader(), body, out)
}

// Limits keep to a sixth of what a PDS allows: 1,666 records made in an hour
// (docs.bsky.app/docs/advanced-guides/rate-limits).
func (*Bluesky) Limits() Limits {
	return Limits{Posts: 270, Deleted: 270, Gap: 5 * time.Second, InFlight: 4}
}

// tidTime returns the time in a record's key, to the microsecond, if the key is a TID
// (atproto.com/specs/tid), else the zero time.
func tidTime(key string) time.Time {
	const digits = "234567abcdefghijklmnopqrstuvwxyz"
	if len(key) != 13 {
		return time.Time{}
	}
	var v uint64
	for _, c := range []byte(key) {
		d := strings.IndexByte(digits, c)
		if d < 0 {
			return time.Time{}
		}
		v = v<<5 | uint64(d)
	}
	return time.UnixMicro(int64(v >> 10 & (1<<53 - 1))).UTC()
}
