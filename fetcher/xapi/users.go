package xapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// mostUsers is the largest number of accounts in one look-up.
const mostUsers = 100

// handleSyntax matches the handles that X allows.
var handleSyntax = regexp.MustCompile(`^[A-Za-z0-9_]{1,15}$`)

// CheckAccount returns an error if name cannot be a handle on X. It makes no request. Use it as
// streamwatch.Source.CheckAccount.
func CheckAccount(name string) error {
	if !handleSyntax.MatchString(name) {
		return errors.New("a handle of 1 to 15 letters, digits and underscores, without @")
	}
	return nil
}

// idsFor is how long the ids of handles are remembered. It is limited because an account can
// change its handle, and another account can then take the old handle. X bills a look-up once a
// day.
const idsFor = 24 * time.Hour

// users looks up the ids of accounts. It remembers ids, because X bills look-ups. One request
// looks up all accounts that are waiting.
type users struct {
	client *client
	most   int           // ids to remember
	turn   chan struct{} // has an element while a look-up is running
	owed   atomic.Int64  // accounts that X has charged for and no page has counted yet

	mu      sync.Mutex
	ids     map[string]string  // by handle in lower case
	since   time.Time          // when ids was last emptied because of its age
	waiting map[string]*lookup // by handle in lower case
}

// lookup is a pending search for a handle's id.
type lookup struct {
	handle string
	done   chan struct{} // closed once id or err is set
	id     string
	err    error
}

func newUsers(c *client, most int) *users {
	return &users{client: c, most: most, turn: make(chan struct{}, 1), ids: map[string]string{}, waiting: map[string]*lookup{}}
}

// known returns an account's id from memory, or "" if it is not remembered.
func (u *users) known(handle string) string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.remembered(handle)
}

// remembered is like known. The caller must hold u.mu.
func (u *users) remembered(handle string) string {
	if now := u.client.now(); now.Sub(u.since) >= idsFor {
		clear(u.ids)
		u.since = now
	}
	return u.ids[strings.ToLower(handle)]
}

// knownIDs returns the id of each account, "" if unknown, and a list of only the known ids. It
// makes no request.
func (u *users) knownIDs(accounts []fetcher.Account) (ids, known []string) {
	ids = make([]string, len(accounts))
	for i, a := range accounts {
		if ids[i] = a.UserID; ids[i] == "" {
			ids[i] = u.known(a.Username)
		}
		if ids[i] != "" {
			known = append(known, ids[i])
		}
	}
	return ids, known
}

// find returns an account's id from memory, or looks it up.
func (u *users) find(ctx context.Context, handle string) (string, error) {
	if handle == "" {
		return "", errors.New("no account named: want a Username or a UserID")
	}
	if !handleSyntax.MatchString(handle) {
		return "", fmt.Errorf("%w: no handle of X is like that", fetcher.ErrNotFound)
	}
	key := strings.ToLower(handle)
	u.mu.Lock()
	if id := u.remembered(handle); id != "" {
		u.mu.Unlock()
		return id, nil
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
			return l.id, l.err
		case <-ctx.Done():
			return "", ctx.Err()
		case u.turn <- struct{}{}:
		}
		select {
		case <-l.done: // another caller has looked up this handle
			<-u.turn
			return l.id, l.err
		default:
		}
		err := u.together(ctx, l)
		<-u.turn
		if err != nil {
			return "", err
		}
	}
}

// together looks up leader and other waiting handles, 100 at most, in one request. If ctx ends,
// it returns ctx.Err(), and the next caller that has the turn looks up the others.
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
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	u.mu.Lock()
	for _, l := range batch {
		key := strings.ToLower(l.handle)
		delete(u.waiting, key)
		switch r, ok := found[key]; {
		case err != nil:
			l.err = err
		case !ok:
			l.err = found[""].err
		default:
			l.id, l.err = r.id, r.err
		}
		if l.id == "" {
			continue
		}
		if len(u.ids) >= u.most {
			clear(u.ids)
		}
		u.ids[key] = l.id
	}
	u.mu.Unlock()
	for _, l := range batch {
		close(l.done)
	}
	return nil
}

// foundUser is the result of a look-up: an id or an error.
type foundUser struct {
	id  string
	err error
}

// ask looks up accounts in one request. It returns the results by handle in lower case. The
// result under "" is for all handles that the answer does not mention. It is the answer's error
// without a handle, if there is one, otherwise ErrNotFound.
func (u *users) ask(ctx context.Context, batch []*lookup) (map[string]foundUser, error) {
	handles := make([]string, len(batch))
	for i, l := range batch {
		handles[i] = l.handle
	}
	slices.Sort(handles)
	a, err := u.client.get(ctx, "/2/users/by", "usernames="+strings.Join(handles, ","))
	if err != nil {
		return nil, err
	}
	d, err := decode[user](a.body)
	if err != nil {
		return nil, fmt.Errorf("cannot look up accounts: %w", err)
	}
	found := map[string]foundUser{"": {err: fmt.Errorf("%w: nobody has this handle", fetcher.ErrNotFound)}}
	for i := range d.Data {
		id, handle := d.Data[i].ID, strings.ToLower(d.Data[i].Username)
		if id != "" && handle != "" {
			found[handle] = foundUser{id: id}
			u.owed.Add(u.client.ledger.charge(u.client.now(), billedUser, id))
		}
	}
	for i := range d.Errors {
		p := &d.Errors[i]
		handle := strings.ToLower(cmp.Or(p.Value, p.ResourceID))
		if !slices.ContainsFunc(handles, func(h string) bool { return strings.EqualFold(h, handle) }) {
			handle = ""
		}
		if found[handle].id == "" {
			found[handle] = foundUser{err: accountError(p)}
		}
	}
	if len(d.Data) == 0 && len(d.Errors) == 0 {
		return nil, fmt.Errorf("cannot look up accounts: %w: neither accounts nor errors", fetcher.ErrMalformed)
	}
	return found, nil
}
