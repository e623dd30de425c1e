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
