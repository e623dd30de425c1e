package enginehttp_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/apikey"
	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/enginehttp"
	"github.com/streamwatch/streamwatch/secret"
)

// A key may make the requests of a minute at once, and its allowance refills evenly.
func TestRateOfAKey(t *testing.T) {
	r := enginehttp.NewRates(10)
	start := time.Unix(1_800_000_000, 0)
	for _, row := range []struct {
		after     time.Duration
		remaining int
		reset     time.Duration // after start
		wait      time.Duration
	}{
		{0, 2, 20 * time.Second, 0},
		{0, 1, 40 * time.Second, 0},
		{0, 0, 60 * time.Second, 0},
		{0, 0, 60 * time.Second, 20 * time.Second},
		{15 * time.Second, 0, 60 * time.Second, 5 * time.Second},
		{20 * time.Second, 0, 80 * time.Second, 0},
		{20 * time.Second, 0, 80 * time.Second, 20 * time.Second},
		{10 * time.Minute, 2, 10*time.Minute + 20*time.Second, 0},
	} {
		remaining, reset, wait := r.Take("k", 3, start.Add(row.after))
		if remaining != row.remaining || reset != start.Add(row.reset).Unix() || wait.Round(time.Millisecond) != row.wait {
			t.Errorf("after %s: remaining %d, reset %d, wait %s, want %+v", row.after, remaining, reset-start.Unix(), wait, row)
		}
	}
	if remaining, _, _ := r.Take("another", 3, start); remaining != 2 {
		t.Error("another key's requests counted")
	}
	// A key that gets another rate keeps what it has used.
	r.Take("changed", 1, start)
	if _, _, wait := r.Take("changed", 60, start.Add(time.Second)); wait != time.Second-time.Second/60 {
		t.Errorf("after the rate was raised: wait %s", wait)
	}
}

// All keys of an owner together may make the requests of two of them here, each at its own rate.
func TestRateOfAnOwner(t *testing.T) {
	r := enginehttp.NewRates(100)
	start := time.Unix(1_800_000_000, 0)
	for i, row := range []struct {
		owner, key       string
		perMinute        int
		after            time.Duration
		times            int
		limit, remaining int // after the last
		wait             time.Duration
	}{
		{"o", "a", 60, 0, 60, 60, 0, 0},
		{"o", "a", 60, 0, 1000, 60, 0, time.Second}, // what the key is refused is not the owner's
		{"o", "b", 60, 0, 30, 60, 30, 0},
		{"o", "c", 60, 0, 29, 120, 1, 0},
		{"o", "slow", 2, 0, 1, 4, 0, time.Duration(14.5 * float64(time.Second))}, // it takes half a key's minute
		{"o", "c", 60, 0, 1, 120, 0, 0},
		{"o", "new", 60, 0, 1000, 120, 0, time.Second / 2},
		{"other", "d", 60, 0, 60, 60, 0, 0},
		{"o", "new", 60, time.Second / 2, 1, 120, 0, 0}, // what the owner is refused is not the key's
		{"o", "new", 60, 10 * time.Minute, 60, 60, 0, 0},
	} {
		var limit, remaining int
		var wait time.Duration
		for range row.times {
			limit, remaining, wait = r.TakeOf(row.owner, row.key, row.perMinute, 2, start.Add(row.after))
		}
		if limit != row.limit || remaining != row.remaining || wait.Round(time.Millisecond) != row.wait {
			t.Errorf("row %d: limit %d, remaining %d, wait %s, want %+v", i, limit, remaining, wait, row)
		}
	}
}

// Requests are counted for a bounded number of keys; the key that was idle the longest
// is forgotten.
func TestRatesAreBounded(t *testing.T) {
	r := enginehttp.NewRates(3)
	now := time.Unix(1_800_000_000, 0)
	for i := range 1000 {
		r.Take("busy", 10, now)
		r.Take(fmt.Sprint("idle", i), 10, now)
	}
	if r.Len() != 3 {
		t.Errorf("%d keys are remembered, want 3", r.Len())
	}
	if _, _, wait := r.Take("busy", 10, now); wait == 0 {
		t.Error("the busy key was forgotten")
	}
	if remaining, _, _ := r.Take("idle0", 10, now); remaining != 9 {
		t.Error("the idle key was remembered")
	}
}

// The headers count down, and after the Retry-After of a 429 a request succeeds.
func TestRateOverHTTP(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(s *setup) { s.rate = 2 })
		for i, want := range []struct {
			status           int
			remaining, retry string
		}{{200, "1", ""}, {200, "0", ""}, {429, "0", "30"}} {
			a := w.do(mine, "GET", "/v1/account/me", "")
			if a.status != want.status || a.header.Get("X-RateLimit-Limit") != "2" || a.header.Get("X-RateLimit-Remaining") != want.remaining || a.header.Get("Retry-After") != want.retry {
				t.Errorf("request %d: %d %v, want %+v", i+1, a.status, a.header, want)
			}
			if body := `"limit":2,"remaining":0,"reset_at":"` + time.Now().UTC().Add(time.Minute).Format("2006-01-02T15:04:05.000Z"); a.status == 429 && !strings.Contains(a.body, body) {
				t.Errorf("%s has no %s", a.body, body)
			}
		}
		if a := w.do(theirs, "GET", "/v1/account/me", ""); a.status != 200 {
			t.Errorf("another key: %d", a.status)
		}
		<-time.After(30 * time.Second)
		if a := w.do(mine, "GET", "/v1/account/me", ""); a.status != 200 {
			t.Errorf("30 s later: %d", a.status)
		}
		if spent, n := w.spent(mine); spent != 3*billing.Credit || n != 3 {
			t.Errorf("charged %d in %d entries, want 3 credits", spent, n)
		}
	})
}

// A key that makes keys does not multiply its rate by their number.
func TestRateOfKeysMadeByAKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(s *setup) { s.rate, s.options.OwnerKeys = 100, 2 })
		answered := 0
		for range 5 {
			a := w.do(mine, "POST", "/v1/account/keys", `{"name":"more"}`)
			if a.status != 201 {
				t.Fatalf("%d %s", a.status, a.body)
			}
			answered++
			made := a.decode(t)["key"].(string)
			for range 100 {
				r := request("GET", "/v1/account/me", "")
				r.Header.Set("X-Api-Key", made)
				if a := w.send(r); a.status == 200 {
					answered++
				} else if a.status != 429 || !strings.Contains(a.body, "of 200 requests a minute of all keys of the account") {
					t.Fatalf("%d %s", a.status, a.body)
				}
			}
			if answered == 200 {
				return
			}
		}
		t.Errorf("%d requests were answered, want 200", answered)
	})
}

func TestCreditText(t *testing.T) {
	for c, want := range map[billing.Credits]string{0: "0", 1: "0.001", 70: "0.07", 1157: "1.157", 5000: "5", -1500: "-1.5", -1: "-0.001", -1 << 63: "-9223372036854775.808"} {
		if got := enginehttp.CreditText(c); got != want {
			t.Errorf("%d: %s, want %s", int64(c), got, want)
		}
	}
}

// AppendTime writes the same as TimeText.
func TestAppendTime(t *testing.T) {
	for _, at := range []time.Time{
		{}, time.Unix(0, 0), time.Date(999, 12, 31, 23, 59, 59, 999_999_999, time.UTC), time.Date(1000, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC),
		time.Date(2026, 11, 9, 8, 7, 6, 5_999_999, time.FixedZone("", 3600)), time.Date(2026, 12, 31, 23, 59, 59, 987_000_000, time.UTC),
	} {
		if got, want := string(enginehttp.AppendTime(nil, at)), `"`+enginehttp.TimeText(at)+`"`; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// byOwner is an Authenticator without key ids: a key is the name of its owner.
type byOwner struct{}

func (byOwner) Authenticate(_ context.Context, key secret.Value) (apikey.Principal, error) {
	return apikey.Principal{Owner: string(key)}, nil
}

// Without key ids each owner has a rate of its own, also one whose name is another's key id.
func TestRateWithoutKeyIDIsTheOwners(t *testing.T) {
	w := newWorld(t, func(s *setup) { s.options.Auth, s.options.RatePerMinute = byOwner{}, 1 })
	for _, row := range []struct {
		owner  string
		status int
	}{{mine, 200}, {theirs, 200}, {mine, 429}} {
		r := request("GET", monitors, "")
		r.Header.Set("X-Api-Key", row.owner)
		if a := w.send(r); a.status != row.status {
			t.Errorf("%s: %d %s, want %d", row.owner, a.status, a.body, row.status)
		}
	}
	if a, b := enginehttp.Allowances(apikey.Principal{Owner: "k"}, 1, 1), enginehttp.Allowances(apikey.Principal{Owner: "o", KeyID: "k"}, 1, 1); a[0] == b[0] {
		t.Error("an owner without key id counts as the key of another owner")
	}
}
