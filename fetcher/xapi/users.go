package xapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"sync"

	"github.com/streamwatch/streamwatch/fetcher"
)

// mostUsers is how many accounts one look-up takes.
const mostUsers = 100

// handleSyntax is what X allows as a handle.
var handleSyntax = regexp.MustCompile(`^[A-Za-z0-9_]{1,15}$`)

// CheckAccount returns an error for a name that is no handle of X, in the form that
// streamwatch.Source.CheckAccount asks for. It makes no request.
func CheckAccount(name string) error {
	if !handleSyntax.MatchString(name) {
		return errors.New("a handle of 1 to 15 letters, digits and underscores, without @")
	}
	return nil
}

// users finds the ids of accounts. A look-up is billed, so an id is remembered, and
// accounts that wait at the same time are looked up together.
type users struct {
	client *client
	names  *dialects
	most   int
	turn   chan struct{} // held while a look-up is under way

	mu      sync.Mutex
	ids     map[string]string // lower-case handle → id
	waiting map[string]*lookup
}

// lookup is a handle whose id is looked up.
type lookup struct {
	handle string
	done   chan struct{} // closed when id and err are there
	id     string
	err    error
	billed int64 // accounts billed for it, told to the first who asks
}

func newUsers(c *client, names *dialects, most int) *users {
	return &users{client: c, names: names, most: most, turn: make(chan struct{}, 1), ids: map[string]string{}, waiting: map[string]*lookup{}}
}

// known is an account's id without asking for it, "" if it is not known.
func (u *users) known(handle string) string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.ids[strings.ToLower(handle)]
}

// note remembers an id.
func (u *users) note(handle, id string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.ids) >= u.most {
		clear(u.ids)
	}
	u.ids[strings.ToLower(handle)] = id
}

// forget drops an id that turned out to be gone.
func (u *users) forget(handle, id string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if key := strings.ToLower(handle); u.ids[key] == id {
		delete(u.ids, key)
	}
}

// find returns an account's id, from memory or by a look-up, and how many accounts
// that was billed for.
func (u *users) find(ctx context.Context, handle string) (id string, billed int64, err error) {
	if !handleSyntax.MatchString(handle) {
		return "", 0, fmt.Errorf("%w: %q is no handle", fetcher.ErrNotFound, handle)
	}
	key := strings.ToLower(handle)
	u.mu.Lock()
	if id := u.ids[key]; id != "" {
		u.mu.Unlock()
		return id, 0, nil
	}
	l := u.waiting[key]
	if l == nil {
		l = &lookup{handle: handle, done: make(chan struct{})}
		u.waiting[key] = l
	}
	u.mu.Unlock()
	for {
		select {
		case <-l.done:
			return l.result()
		case <-ctx.Done():
			return "", 0, fmt.Errorf("xapi: %w", ctx.Err())
		case u.turn <- struct{}{}:
		}
		select {
		case <-l.done:
			<-u.turn
			return l.result()
		default:
		}
		err := u.together(ctx, l)
		<-u.turn
		if ctx.Err() != nil {
			return "", 0, fmt.Errorf("xapi: %w", ctx.Err())
		}
		if err != nil {
			return "", 0, err
		}
	}
}

// result is a look-up's outcome once it is done.
func (l *lookup) result() (string, int64, error) {
	return l.id, l.billed, l.err
}

// together looks up those who wait, first among them, in one request. When ctx ends
// the others go on waiting for one who has the turn next.
func (u *users) together(ctx context.Context, leader *lookup) error {
	u.mu.Lock()
	batch := []*lookup{leader}
	for _, l := range u.waiting {
		if len(batch) == mostUsers {
			break
		}
		if l != leader {
			batch = append(batch, l)
		}
	}
	u.mu.Unlock()
	found, err := u.ask(ctx, batch)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	for _, l := range batch {
		switch r := found[strings.ToLower(l.handle)]; {
		case err != nil:
			l.err = err
		case r == nil:
			l.err = fmt.Errorf("xapi: %w: nobody has the handle %q", fetcher.ErrNotFound, l.handle)
		default:
			l.id, l.err, l.billed = r.id, r.err, r.billed
			if r.id != "" {
				u.note(l.handle, r.id)
			}
		}
	}
	u.mu.Lock()
	for _, l := range batch {
		delete(u.waiting, strings.ToLower(l.handle))
	}
	u.mu.Unlock()
	for _, l := range batch {
		close(l.done)
	}
	return nil
}

type foundUser struct {
	id     string
	err    error
	billed int64
}

// ask looks up accounts. The answer has no entry for those that it does not mention.
func (u *users) ask(ctx context.Context, batch []*lookup) (map[string]*foundUser, error) {
	handles := make([]string, len(batch))
	for i, l := range batch {
		handles[i] = l.handle
	}
	a, err := u.client.get(ctx, "/2/users/by", url.Values{"usernames": {strings.Join(handles, ",")}})
	if err != nil {
		return nil, err
	}
	d, err := decodeDocument(a.body)
	if err != nil {
		return nil, fmt.Errorf("xapi: look-up of accounts: %w", err)
	}
	var list list[user]
	lenient(json.Unmarshal(d.Data, &list))
	found := map[string]*foundUser{}
	for i := range list {
		if id := string(list[i].ID); id != "" {
			found[strings.ToLower(list[i].Username)] = &foundUser{id: id, billed: u.client.ledger.charge(a.day(u.client), billedUser, id)}
		}
	}
	for i := range d.Errors {
		p := &d.Errors[i]
		handle := strings.ToLower(string(first(p.Value, p.ResourceID)))
		if found[handle] == nil && handle != "" {
			found[handle] = &foundUser{err: accountError(p)}
		}
	}
	return found, nil
}
