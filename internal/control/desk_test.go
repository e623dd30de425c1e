package control_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/internal/control"
	"github.com/streamwatch/streamwatch/internal/invalid"
	"github.com/streamwatch/streamwatch/secret"
)

var (
	errNotFound = errors.New("thing: not found")
	errConflict = errors.New("thing: changed meanwhile")
	errTaken    = errors.New("thing: another has the text")
)

// thing is a record whose text parses to its length.
type thing struct {
	ID, Owner, Text, URL string
	SecretSet            bool
	Status               control.Status
	Reason               string
	Since, Made, Changed time.Time
	Resumed              time.Time
	Version              int64
}

// desk is a manager and its ports: a store, a tracker and webhooks that note each
// call, and fail the calls that are named in fails.
type desk struct {
	*control.Manager[thing, int]
	mu      sync.Mutex // guards fails, calls and stored
	fails   map[string]bool
	calls   []string
	stored  map[string]thing
	tracked map[string]thing
	urls    map[string]string
	before  func(call string)      // called before each call, if set
	lost    func(call string) bool // whether a call's answer is lost, if set
	down    bool                   // whether all calls of the store fail
	hangs   bool                   // whether reads are not answered
	later   *control.Later         // from Admit, if set
	refuses bool                   // whether the tracker's errors say that trying again does not help
	taken   string                 // a text that another record has
	coarse  bool                   // whether the store keeps microseconds
}

var errDown = errors.New("port is down")

func newDesk() *desk {
	d := &desk{fails: map[string]bool{}, stored: map[string]thing{}, tracked: map[string]thing{}, urls: map[string]string{}}
	d.Manager = control.New(control.Config[thing, int]{Store: store{d}, Tracker: tracker{d}, Webhooks: webhooks{d},
		Admit: func(context.Context, *thing, thing) (func(), error) {
			if d.later != nil {
				return nil, d.later
			}
			return func() { _ = d.call("done") }, d.call("admit")
		},
		Kind: control.Kind[thing, int]{Name: "thing", Prefix: "thg_", ErrNotFound: errNotFound, ErrConflict: errConflict,
			Head: func(t *thing) control.Head {
				return control.Head{ID: &t.ID, Owner: &t.Owner, WebhookURL: &t.URL, WebhookSecretSet: &t.SecretSet, Status: &t.Status,
					StatusReason: &t.Reason, CreatedAt: &t.Made, UpdatedAt: &t.Changed, ResumedAt: &t.Resumed, Version: &t.Version}
			},
			Check: func(t *thing) (int, error) {
				if t.Text == "" {
					return 0, invalid.Field("thing", "text", "", "a text")
				}
				return len(t.Text), nil
			},
			Parse:   func(t *thing) (int, error) { return len(t.Text), nil },
			Restart: func(t *thing, now time.Time) { t.Since = now },
			Advance: func(context.Context, *thing) error { return d.call("advance") },
			Affects: func(old, t *thing, _ string) bool { return t.Text == old.Text },
		}})
	return d
}

func (d *desk) call(name string) error {
	if d.before != nil {
		d.before(name)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls = append(d.calls, name)
	if d.fails[name] {
		return errDown
	}
	return nil
}

// answer is the error of a write that was made, with d.mu held.
func (d *desk) answer(call string) error {
	if d.lost != nil && d.lost(call) {
		return errDown
	}
	return nil
}

type store struct{ d *desk }

// call is desk.call for a call to the store.
func (s store) call(name string) error {
	if err := s.d.call(name); err != nil {
		return err
	}
	return s.up()
}

func (s store) up() error {
	s.d.mu.Lock()
	defer s.d.mu.Unlock()
	if s.d.down {
		return errDown
	}
	return nil
}

func (s store) Create(_ context.Context, t thing) error {
	if err := s.call("create"); err != nil {
		return err
	}
	s.d.mu.Lock()
	defer s.d.mu.Unlock()
	s.d.stored[t.ID] = t
	return s.d.answer("create")
}

func (s store) Get(ctx context.Context, owner, id string) (thing, error) {
	if s.d.hangs {
		<-ctx.Done()
		return thing{}, ctx.Err()
	}
	if err := s.up(); err != nil {
		return thing{}, err
	}
	s.d.mu.Lock()
	defer s.d.mu.Unlock()
	t, ok := s.d.stored[id]
	if !ok || t.Owner != owner {
		return thing{}, errNotFound
	}
	return t, nil
}

func (s store) Update(_ context.Context, t thing) error {
	if err := s.call("update"); err != nil {
		return err
	}
	s.d.mu.Lock()
	defer s.d.mu.Unlock()
	if s.d.stored[t.ID].Version != t.Version {
		return errConflict
	}
	if s.d.taken != "" && t.Text == s.d.taken {
		return errTaken
	}
	if s.d.coarse {
		t.Changed = t.Changed.Round(time.Microsecond)
	}
	t.Version++
	s.d.stored[t.ID] = t
	return s.d.answer("update")
}

func (s store) Delete(_ context.Context, _, id string) error {
	if err := s.call("delete"); err != nil {
		return err
	}
	s.d.mu.Lock()
	defer s.d.mu.Unlock()
	if _, ok := s.d.stored[id]; !ok {
		return errNotFound
	}
	delete(s.d.stored, id)
	return s.d.answer("delete")
}

func (s store) Scan(_ context.Context, fn func(thing) error) error {
	s.d.mu.Lock()
	defer s.d.mu.Unlock()
	for _, t := range s.d.stored {
		if err := fn(t); err != nil {
			return err
		}
	}
	return nil
}

type tracker struct{ d *desk }

func (k tracker) Track(_ context.Context, t thing, n int) error {
	if n != len(t.Text) {
		return fmt.Errorf("text %q parsed to %d", t.Text, n)
	}
	if err := k.d.call("track"); err != nil {
		if k.d.refuses {
			err = invalid.Refused(err)
		}
		return err
	}
	k.d.tracked[t.ID] = t
	return nil
}

func (k tracker) Untrack(_ context.Context, id string) error {
	delete(k.d.tracked, id) // also when it fails: by half
	return k.d.call("untrack")
}

type webhooks struct{ d *desk }

func (webhooks) Check(url string, _ secret.Value) error {
	if !strings.HasPrefix(url, "https://") {
		return invalid.Field("thing", "webhook_url", url, "https")
	}
	return nil
}

func (w webhooks) Change(_ context.Context, t thing, _, to string, key secret.Value) (secret.Value, error) {
	if err := w.d.call("change"); err != nil {
		return "", err
	}
	if w.d.urls[t.ID] = to; to == "" {
		delete(w.d.urls, t.ID)
	}
	if key == "" && to != "" {
		return "generated", nil
	}
	return "", nil
}

func (w webhooks) Unbind(_ context.Context, t thing) error {
	if err := w.d.call("unbind"); err != nil {
		return err
	}
	delete(w.d.urls, t.ID)
	return nil
}
