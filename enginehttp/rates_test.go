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
	if enginehttp.RateKey(apikey.Principal{Owner: "k"}) == enginehttp.RateKey(apikey.Principal{Owner: "o", KeyID: "k"}) {
		t.Error("an owner without key id counts as the key of another owner")
	}
}
