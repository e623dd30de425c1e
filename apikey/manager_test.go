package apikey_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/apikey"
	"github.com/streamwatch/streamwatch/record"
	"github.com/streamwatch/streamwatch/storage/memory"
	"github.com/streamwatch/streamwatch/storage/storetest"
)

func TestNewManagerRefuses(t *testing.T) {
	for text, c := range map[string]apikey.Config{"Config.Records": {}, "MaxKeys -1": {Records: memory.New(memory.Options{}).Ports().Records, MaxKeys: -1}} {
		if m, err := apikey.NewManager(c); m != nil || err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("error %v, want one with %q", err, text)
		}
	}
}

func TestIssue(t *testing.T) {
	o := newOffice(t, 0)
	zone := time.FixedZone("Chatham", 12*3600+45*60)
	m := manager(t, apikey.Config{Records: o.records, Now: func() time.Time { return o.clock.Now().In(zone) }})
	r := apikey.IssueRequest{Owner: "acme", Name: "production", Tier: "gold", RatePerMinute: 600, ExpiresAt: o.clock.Now().Add(time.Hour)}
	k, err := m.Issue(t.Context(), r)
	must(t, err)
	key := string(k.Secret)
	sum := sha256.Sum256([]byte(key))
	want := apikey.Key{ID: k.ID, Owner: "acme", Name: "production", Prefix: key[:12], Hash: hex.EncodeToString(sum[:]), Tier: "gold", RatePerMinute: 600,
		Scope: apikey.ScopeWrite, CreatedAt: o.clock.Now(), ExpiresAt: r.ExpiresAt, Version: 1}
	if k.Key != want {
		t.Errorf("Issue: %+v, want %+v", k.Key, want)
	}
	keys := list(t, m)
	if len(keys) != 1 || keys[0] != want {
		t.Errorf("List: %+v, want %+v", keys, want)
	}
	p, err := m.Authenticate(t.Context(), k.Secret)
	if want := (apikey.Principal{Owner: "acme", KeyID: k.ID, Tier: "gold", Scope: apikey.ScopeWrite, RatePerMinute: 600}); p != want || err != nil {
		t.Errorf("Authenticate: %+v, %v, want %+v", p, err, want)
	}
	if found := regexp.MustCompile(apikey.Pattern).FindString("x-api-key: " + key + "\n"); found != key {
		t.Errorf("Pattern finds %q in %q", found, key)
	}
	if !regexp.MustCompile(`^key_[a-z2-7]{26}$`).MatchString(k.ID) { // can stand in a path
		t.Errorf("id %q", k.ID)
	}
	for _, print := range []string{fmt.Sprintf("%+v %#v", k, k), fmt.Sprintf("%+v", keys)} {
		if strings.Contains(print, key[20:]) {
			t.Errorf("the key prints: %s", print)
		}
	}
	if other := issue(t, m); other.Secret == k.Secret || other.ID == k.ID {
		t.Error("two keys are the same")
	}
}

// Each field has a limit; a value beyond it is refused with the name of the field.
func TestIssueChecksTheFields(t *testing.T) {
	o := newOffice(t, 0)
	now := o.clock.Now()
	for _, row := range []struct {
		field   string
		allowed func(*apikey.IssueRequest) // nil if the rows above have it
		refused func(*apikey.IssueRequest)
	}{
		{"owner", func(r *apikey.IssueRequest) { r.Owner = strings.Repeat("é", 64) }, func(r *apikey.IssueRequest) { r.Owner = strings.Repeat("o", 129) }},
		{"owner", nil, func(r *apikey.IssueRequest) { r.Owner = "a\nb" }},
		{"name", func(r *apikey.IssueRequest) { r.Name = strings.Repeat("é", 100) }, func(r *apikey.IssueRequest) { r.Name = strings.Repeat("é", 101) }},
		{"name", nil, func(r *apikey.IssueRequest) { r.Name = " " }},
		{"name", nil, func(r *apikey.IssueRequest) { r.Name = "\xff" }},
		{"tier", func(r *apikey.IssueRequest) { r.Tier = strings.Repeat("é", 100) }, func(r *apikey.IssueRequest) { r.Tier = strings.Repeat("t", 101) }},
		{"tier", nil, func(r *apikey.IssueRequest) { r.Tier = "a\nb" }},
		{"rate_per_minute", func(r *apikey.IssueRequest) { r.RatePerMinute = 1_000_000 }, func(r *apikey.IssueRequest) { r.RatePerMinute = 1_000_001 }},
		{"rate_per_minute", nil, func(r *apikey.IssueRequest) { r.RatePerMinute = -1 }},
		{"scope", func(r *apikey.IssueRequest) { r.Scope = apikey.ScopeAdmin }, func(r *apikey.IssueRequest) { r.Scope = "root" }},
		{"scope", func(r *apikey.IssueRequest) { r.Scope = apikey.ScopeRead }, func(r *apikey.IssueRequest) { r.Scope = "Read" }},
		{"expires_at", func(r *apikey.IssueRequest) { r.ExpiresAt = now.Add(1) }, func(r *apikey.IssueRequest) { r.ExpiresAt = now }},
	} {
		r := apikey.IssueRequest{Owner: "acme", Name: "n"}
		row.refused(&r)
		var f *apikey.FieldError
		if k, err := o.Issue(t.Context(), r); !errors.As(err, &f) || f.Wire != row.field || k != (apikey.Issued{}) {
			t.Errorf("%+v: error %v, want one of the field %s", r, err, row.field)
		}
		if row.allowed == nil {
			continue
		}
		r = apikey.IssueRequest{Owner: "globex", Name: "n"}
		row.allowed(&r)
		if k, err := o.Issue(t.Context(), r); err != nil || r.Scope != "" && k.Scope != r.Scope {
			t.Errorf("%+v: scope %q, error %v", r, k.Scope, err)
		}
	}
	if n := len(list(t, o.Manager)); n != 0 {
		t.Errorf("refused requests left %d keys", n)
	}
}

// An owner has at most MaxKeys keys. The oldest of those that have ended make room.
func TestMaxKeys(t *testing.T) {
	full := func(m *apikey.Manager) {
		t.Helper()
		if _, err := m.Issue(t.Context(), apikey.IssueRequest{Owner: "acme", Name: "n"}); !errors.Is(err, apikey.ErrTooMany) {
			t.Errorf("error %v, want ErrTooMany", err)
		}
	}
	o := newOffice(t, 3)
	first, second := issue(t, o.Manager), issue(t, o.Manager)
	_, err := o.Issue(t.Context(), apikey.IssueRequest{Owner: "acme", Name: "n", ExpiresAt: o.clock.Now().Add(time.Hour)})
	must(t, err)
	full(o.Manager)
	_, err = o.Issue(t.Context(), apikey.IssueRequest{Owner: "globex", Name: "n"})
	must(t, err)
	revoke(t, o.Manager, second.ID)
	o.clock.Advance(time.Hour) // the third expires
	issue(t, o.Manager)
	if keys := list(t, o.Manager); len(keys) != 3 || keys[0].ID != first.ID || keys[1].Valid(o.clock.Now()) || keys[1].ID == second.ID {
		t.Errorf("the second key has to make room for the fourth: %+v", keys)
	}
	issue(t, o.Manager)
	full(o.Manager)
}

// MaxKeys is 100 by default. If it was higher before, it is reached in steps, because a change is
// bounded.
func TestMaxKeysThatWasHigher(t *testing.T) {
	o := newOffice(t, 0)
	for i := range 250 {
		put(t, o, apikey.Key{ID: fmt.Sprint(i), Owner: "acme", Hash: fmt.Sprintf("%016d", i), RevokedAt: o.clock.Now()})
	}
	for _, want := range []int{152, 100, 100} {
		issue(t, o.Manager)
		if n := len(list(t, o.Manager)); n != want {
			t.Errorf("%d keys, want %d", n, want)
		}
	}
	for range 97 {
		issue(t, o.Manager)
	}
	if _, err := o.Issue(t.Context(), apikey.IssueRequest{Owner: "acme", Name: "n"}); !errors.Is(err, apikey.ErrTooMany) {
		t.Errorf("error %v, want ErrTooMany", err)
	}
}

// Another manager issues a key after this one has looked for room, of 3 places.
func TestIssueBesideAnother(t *testing.T) {
	taken := &record.LimitError{}
	for _, row := range []struct {
		name         string
		valid, ended int
		err          error // of every Apply of this manager; nil for the store's
		want         error
	}{
		{"for the last place", 2, 0, nil, apikey.ErrTooMany},
		{"for one of two places", 1, 0, nil, nil},
		{"in place of the same key that has ended", 2, 1, nil, apikey.ErrTooMany},
		{"in place of another that has ended", 1, 2, nil, nil},
		{"for the last place, but a key has ended", 1, 1, nil, nil},
		{"each time for the last place", 0, 0, taken, apikey.ErrTooMany},
		{"each time in place of the same key", 0, 0, record.ErrNotFound, record.ErrNotFound},
	} {
		t.Run(row.name, func(t *testing.T) {
			o := newOffice(t, 3)
			for range row.ended {
				revoke(t, o.other, issue(t, o.other).ID)
			}
			for range row.valid {
				issue(t, o.other)
			}
			tries := 0
			o.records.before = func() error {
				if tries++; tries == 1 {
					issue(t, o.other)
				}
				return row.err
			}
			k, err := o.Issue(t.Context(), apikey.IssueRequest{Owner: "acme", Name: "n"})
			if !errors.Is(err, row.want) || (err == nil) != (row.want == nil) || (err == nil) != (k.Secret != "") {
				t.Errorf("Issue: %+v, %v, want %v", k, err, row.want)
			}
			if n := len(list(t, o.other)); n > 3 {
				t.Errorf("%d keys, want at most 3", n)
			}
		})
	}
}

func TestIssueConcurrently(t *testing.T) {
	o := newOffice(t, 3)
	results := make(chan error, 16)
	var wg sync.WaitGroup
	for i := range cap(results) {
		wg.Go(func() {
			m := []*apikey.Manager{o.Manager, o.other}[i%2]
			k, err := m.Issue(t.Context(), apikey.IssueRequest{Owner: "acme", Name: "n"})
			if err == nil {
				wantValid(t, o.Manager, k.Secret)
				wantValid(t, o.other, k.Secret)
			}
			results <- err
		})
	}
	wg.Wait()
	issued := 0
	for range cap(results) {
		if err := <-results; err == nil {
			issued++
		} else if !errors.Is(err, apikey.ErrTooMany) {
			t.Errorf("error %v, want ErrTooMany", err)
		}
	}
	if n := len(list(t, o.Manager)); issued != 3 || n != 3 {
		t.Errorf("%d were issued and there are %d, want 3", issued, n)
	}
}

func TestRevoke(t *testing.T) {
	o := newOffice(t, 0)
	k := issue(t, o.Manager)
	wantValid(t, o.Manager, k.Secret) // and is cached
	wantValid(t, o.other, k.Secret)
	if _, err := o.Revoke(t.Context(), "globex", k.ID); !errors.Is(err, apikey.ErrNotFound) {
		t.Errorf("Revoke of another owner's key: %v, want ErrNotFound", err)
	}
	want := k.Key
	want.RevokedAt, want.Version = o.clock.Now(), 2
	for _, m := range []*apikey.Manager{o.Manager, o.other, o.Manager} { // once is enough
		if got := revoke(t, m, k.ID); got != want {
			t.Errorf("Revoke: %+v, want %+v", got, want)
		}
		wantInvalid(t, m, k.Secret, "revoked")
		o.clock.Advance(time.Hour)
	}
	if got := list(t, o.Manager); len(got) != 1 || got[0] != want {
		t.Errorf("List: %+v, want %+v", got, want)
	}
}

// Another changes the key after this manager has read it.
func TestRevokeBesideAnother(t *testing.T) {
	for name, row := range map[string]struct {
		times int
		do    func(t *testing.T, o *office, id string)
		want  error
	}{
		"revokes it":          {1, func(t *testing.T, o *office, id string) { revoke(t, o.other, id) }, nil},
		"deletes it":          {1, func(t *testing.T, o *office, id string) { must(t, o.other.Delete(t.Context(), "acme", id)) }, apikey.ErrNotFound},
		"renames it":          {1, rename, nil},
		"renames it for ever": {1 << 30, rename, record.ErrConflict},
	} {
		t.Run(name, func(t *testing.T) {
			o := newOffice(t, 0)
			k := issue(t, o.Manager)
			o.records.before = func() error {
				if row.times--; row.times >= 0 {
					row.do(t, o, k.ID)
				}
				return nil
			}
			_, err := o.Revoke(t.Context(), "acme", k.ID)
			if !errors.Is(err, row.want) || (err == nil) != (row.want == nil) {
				t.Errorf("Revoke: %v, want %v", err, row.want)
			}
			if err == nil {
				wantInvalid(t, o.other, k.Secret, "revoked")
			}
			if name == "renames it" && list(t, o.other)[0].Name != "renamed" {
				t.Error("the other change is undone")
			}
		})
	}
}

// rename stores the key with another name, as a program of the owner's may.
func rename(t *testing.T, o *office, id string) {
	stored, err := o.records.Get(t.Context(), "acme", record.Key{Kind: record.APIKey, ID: id})
	must(t, err)
	k, err := apikey.FromRecord(stored)
	must(t, err)
	k.Name = "renamed"
	put(t, o, k)
}

func put(t *testing.T, o *office, k apikey.Key) {
	t.Helper()
	stored, err := k.Record()
	must(t, err)
	_, err = o.records.Store.Apply(t.Context(), record.Change{Put: []record.Record{stored}})
	must(t, err)
}

func TestDelete(t *testing.T) {
	o := newOffice(t, 0)
	k := issue(t, o.Manager)
	wantValid(t, o.Manager, k.Secret) // and is cached
	must(t, o.Delete(t.Context(), "globex", k.ID))
	wantValid(t, o.Manager, k.Secret)
	for range 2 { // the second time there is none
		must(t, o.Delete(t.Context(), "acme", k.ID))
		wantInvalid(t, o.Manager, k.Secret, "deleted")
	}
	if n := len(list(t, o.Manager)); n != 0 {
		t.Errorf("%d keys are left", n)
	}
}

// A change whose answer is lost is made. One that the store refuses is not, and returns the
// store's error.
func TestChangesWhenTheStoreFails(t *testing.T) {
	changes := map[string]struct {
		do   func(m *apikey.Manager, id string) error
		done func(keys []apikey.Key) bool
	}{
		"Issue": {func(m *apikey.Manager, _ string) error {
			_, err := m.Issue(t.Context(), apikey.IssueRequest{Owner: "acme", Name: "n"})
			return err
		}, func(keys []apikey.Key) bool { return len(keys) == 2 }},
		"Revoke": {func(m *apikey.Manager, id string) error {
			_, err := m.Revoke(t.Context(), "acme", id)
			return err
		}, func(keys []apikey.Key) bool { return !keys[0].RevokedAt.IsZero() }},
		"Delete": {func(m *apikey.Manager, id string) error { return m.Delete(t.Context(), "acme", id) },
			func(keys []apikey.Key) bool { return len(keys) == 0 }},
	}
	for name, change := range changes {
		for _, row := range []struct {
			text string
			plan *storetest.FaultPlan
			want error
		}{
			{"the answer is lost", &storetest.FaultPlan{Method: "Records.Apply", Do: storetest.FailAfter}, nil},
			{"the store fails", &storetest.FaultPlan{Method: "Records.Apply", Do: storetest.FailBefore}, storetest.ErrStoreFault},
			{"the owner was erased", nil, record.ErrGone},
		} {
			t.Run(name+", "+row.text, func(t *testing.T) {
				store := memory.New(memory.Options{})
				m := manager(t, apikey.Config{Records: store.Ports().Records})
				k := issue(t, m)
				if row.plan != nil {
					m = manager(t, apikey.Config{Records: storetest.FaultyStore(store, *row.plan).Ports().Records})
				} else {
					gone := &record.Gone{Owner: "acme", Until: time.Now().Add(time.Hour)}
					_, err := store.Ports().Records.Apply(t.Context(), record.Change{Gone: gone})
					must(t, err)
				}
				want := row.want
				if name == "Delete" && want == record.ErrGone { // nothing is made for the owner
					want = nil
				}
				if err := change.do(m, k.ID); !errors.Is(err, want) || (err == nil) != (want == nil) {
					t.Errorf("error %v, want %v", err, want)
				}
				if got := change.done(list(t, m)); got != (want == nil) {
					t.Errorf("the change is made: %t, want %t", got, want == nil)
				}
			})
		}
	}
}
