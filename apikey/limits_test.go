package apikey_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/streamwatch/streamwatch/apikey"
	"github.com/streamwatch/streamwatch/storage/memory"
)

func TestNewManagerRefuses(t *testing.T) {
	keys := memory.New(memory.Options{}).Keys()
	for _, row := range []struct {
		cfg  apikey.Config
		text string // in the error
	}{{apikey.Config{}, "Config.Store"}, {apikey.Config{Store: keys, MaxKeys: -1}, "MaxKeys -1"}} {
		if m, err := apikey.NewManager(row.cfg); m != nil || err == nil || !strings.Contains(err.Error(), row.text) {
			t.Errorf("%+v: error %v, want one with %q", row.cfg, err, row.text)
		}
	}
}

func TestDefaultMaxKeys(t *testing.T) {
	o := newOffice(t, nil)
	for range 100 {
		o.issue(t, nil)
	}
	if _, err := o.Issue(t.Context(), apikey.IssueRequest{Owner: "acme", Name: "n"}); !errors.Is(err, apikey.ErrTooMany) {
		t.Errorf("key 101: error %v, want ErrTooMany", err)
	}
}

// Each field may be as long and as large as its limit says.
func TestIssueAcceptsTheLimits(t *testing.T) {
	o := newOffice(t, nil)
	for name, change := range map[string]func(*apikey.IssueRequest){
		"owner of 128 bytes":     func(r *apikey.IssueRequest) { r.Owner = strings.Repeat("é", 64) },
		"name of 100 characters": func(r *apikey.IssueRequest) { r.Name = strings.Repeat("é", 100) },
		"tier of 100 characters": func(r *apikey.IssueRequest) { r.Tier = strings.Repeat("é", 100) },
		"rate of 1,000,000":      func(r *apikey.IssueRequest) { r.RatePerMinute = 1_000_000 },
		"end in a nanosecond":    func(r *apikey.IssueRequest) { r.ExpiresAt = o.clock.Now().Add(1) },
	} {
		r := apikey.IssueRequest{Owner: "acme", Name: "n"}
		change(&r)
		if _, err := o.Issue(t.Context(), r); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What was refused is shown, of a long value its beginning.
func TestFieldErrorShowsTheValue(t *testing.T) {
	o := newOffice(t, nil)
	short := strings.Repeat("a", 199) + "\n"
	for value, shown := range map[string]string{
		short:                            short,
		short + "b":                      short + "…",
		"a" + strings.Repeat("é", 1<<10): "a" + strings.Repeat("é", 99) + "…",
	} {
		_, err := o.Issue(t.Context(), apikey.IssueRequest{Owner: value, Name: "n"})
		var f *apikey.FieldError
		if !errors.As(err, &f) || f.Value != shown || !utf8.ValidString(err.Error()) {
			t.Errorf("%q: error %v, want it to show %q", value, err, shown)
		}
	}
}

// A record's times are UTC, whatever the clock's zone, and its id can stand in a
// path.
func TestRecordOfAKey(t *testing.T) {
	at := time.Date(2026, 11, 21, 9, 0, 0, 0, time.FixedZone("Chatham", 12*3600+45*60))
	o := newOffice(t, func(c *apikey.Config) { c.Now = func() time.Time { return at } })
	k := o.issue(t, nil)
	if k.CreatedAt != at.UTC() {
		t.Errorf("created at %s, want %s", k.CreatedAt, at.UTC())
	}
	if !regexp.MustCompile(`^key_[a-z2-7]{26}$`).MatchString(k.ID) {
		t.Errorf("id %q", k.ID)
	}
}

func TestRotationLimits(t *testing.T) {
	o := newOffice(t, nil)
	k := o.issue(t, nil)
	now := o.clock.Now()
	for _, row := range []struct {
		field string
		r     apikey.Rotation
	}{
		{"grace", apikey.Rotation{Grace: -1}}, {"grace", apikey.Rotation{Grace: apikey.MaxGrace + 1}}, {"expires_at", apikey.Rotation{ExpiresAt: now}},
	} {
		var f *apikey.FieldError
		if _, err := o.Rotate(t.Context(), "acme", k.ID, row.r); !errors.As(err, &f) || f.Field != row.field {
			t.Errorf("%+v: error %v, want one of %s", row.r, err, row.field)
		}
	}
	if list, _ := o.List(t.Context(), "acme"); len(list) != 1 || list[0] != k.Key {
		t.Errorf("refused rotations left %+v", list)
	}
	next, err := o.Rotate(t.Context(), "acme", k.ID, apikey.Rotation{Grace: apikey.MaxGrace, ExpiresAt: now.Add(time.Hour)})
	if err != nil || !next.ExpiresAt.Equal(now.Add(time.Hour)) {
		t.Errorf("the longest grace: new key %+v, %v, want it to end in an hour", next.Key, err)
	}
}

// An owner who has as many valid keys as are allowed can have one replaced at once, again
// and again. One that stays valid beside its successor is one too many. Records are not
// piled up.
func TestRotateOfTheLastAllowedKey(t *testing.T) {
	o := newOffice(t, func(c *apikey.Config) { c.MaxKeys = 3 })
	k := o.issue(t, nil)
	o.issue(t, nil)
	o.issue(t, nil)
	_, err := o.Rotate(t.Context(), "acme", k.ID, apikey.Rotation{Grace: time.Hour})
	if !errors.Is(err, apikey.ErrTooMany) {
		t.Errorf("with a grace: error %v, want ErrTooMany", err)
	}
	for i := range 5 {
		next, err := o.Rotate(t.Context(), "acme", k.ID, apikey.Rotation{})
		if err != nil {
			t.Fatalf("rotation %d: %v", i, err)
		}
		if got := o.who(t, k.Secret); got != invalid {
			t.Errorf("rotation %d: the old key is %s", i, got)
		}
		if got := o.who(t, next.Secret); got != next.ID {
			t.Errorf("rotation %d: the new key is %s", i, got)
		}
		k = next
		list, err := o.List(t.Context(), "acme")
		if err != nil || len(list) > 4 {
			t.Errorf("rotation %d: %d records, %v; want the 3 valid ones and the last that ended", i, len(list), err)
		}
	}
	before, _ := o.List(t.Context(), "acme")
	if _, err := o.Issue(t.Context(), apikey.IssueRequest{Owner: "acme", Name: "n"}); !errors.Is(err, apikey.ErrTooMany) || !strings.Contains(err.Error(), "3 are valid, want at most 3") {
		t.Errorf("one key more: error %v, want ErrTooMany that counts the valid ones", err)
	}
	if after, _ := o.List(t.Context(), "acme"); len(after) != len(before) {
		t.Errorf("a refused key has %d records left of %d", len(after), len(before))
	}
	if _, err := o.Revoke(t.Context(), "acme", k.ID); err != nil {
		t.Fatal(err)
	}
	o.issue(t, nil)
	if list, _ := o.List(t.Context(), "acme"); len(list) != 3 {
		t.Errorf("%d records after a new key, want 3", len(list))
	}
}
