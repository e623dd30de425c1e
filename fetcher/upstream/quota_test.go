package upstream

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

func TestQuota(t *testing.T) {
	own := Quota{Remaining: "X-Quota-Left", Limit: "X-Quota", Reset: "X-Quota-Reset"}
	form := func(f ResetForm) Quota { q := own; q.Form = f; return q }
	known := func(reset time.Time) fetcher.RateLimit {
		return fetcher.RateLimit{Known: true, Limit: 300, Remaining: 7, Reset: reset}
	}
	for _, tc := range []struct {
		name  string
		quota Quota
		reset string
		want  time.Time
	}{
		{"any: seconds", own, "45", noon.Add(45 * time.Second)},
		{"any: Unix", own, "1772367300", noon.Add(15 * time.Minute)},
		{"any: RFC 3339", own, "2026-03-01T12:05:00Z", noon.Add(5 * time.Minute)},
		{"any: HTTP date", own, "Sun, 01 Mar 2026 12:01:30 GMT", noon.Add(90 * time.Second)},
		{"seconds", form(ResetSeconds), "45", noon.Add(45 * time.Second)},
		{"seconds with a fraction", form(ResetSeconds), "1.5", noon.Add(1500 * time.Millisecond)},
		{"seconds that would be a Unix time", form(ResetSeconds), "1772367300", noon.Add(MaxWait)},
		{"seconds, but a time", form(ResetSeconds), "2026-03-01T12:05:00Z", time.Time{}},
		{"negative seconds", form(ResetSeconds), "-1", time.Time{}},
		{"Unix time", form(ResetUnix), "1772367300", noon.Add(15 * time.Minute)},
		{"Unix time with a fraction", form(ResetUnix), "1772366400.5", noon.Add(500 * time.Millisecond)},
		{"Unix time of 1970", form(ResetUnix), "45", time.Unix(45, 0)},
		{"Unix time in milliseconds is cut", form(ResetUnix), "1772367300000", noon.Add(MaxWait)},
		{"RFC 3339", form(ResetTime), "2026-03-01T13:05:00.5+01:00", noon.Add(5*time.Minute + 500*time.Millisecond)},
		{"HTTP date", form(ResetTime), "Sun, 01 Mar 2026 12:01:30 GMT", noon.Add(90 * time.Second)},
		{"a time, but a number", form(ResetTime), "45", time.Time{}},
		{"infinite", form(ResetSeconds), "+Inf", noon.Add(MaxWait)},
		{"no number", form(ResetSeconds), "NaN", time.Time{}},
		{"no reset", own, "", time.Time{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("X-Quota-Left", "7")
				w.Header().Set("X-Quota", "300")
				w.Header().Set("X-Quota-Reset", tc.reset)
				w.Header().Set("X-RateLimit-Remaining", "1") // not the one that was named
			}))
			defer server.Close()
			c, err := New(Config{BaseURL: server.URL, Quota: tc.quota, Now: func() time.Time { return noon }})
			if err != nil {
				t.Fatal(err)
			}
			resp, err := c.Get(t.Context(), "/", nil)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := resp.RateLimit, known(tc.want); got.Known != want.Known || got.Limit != want.Limit || got.Remaining != want.Remaining || !got.Reset.Equal(want.Reset) {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
}

// A 429 without Retry-After says by its quota how long to wait.
func TestQuotaOfARefusal(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Quota-Left", "0")
		w.Header().Set("X-Quota-Reset", "45")
		w.WriteHeader(http.StatusTooManyRequests)
	}))
	defer server.Close()
	c, err := New(Config{BaseURL: server.URL, Quota: Quota{Remaining: "X-Quota-Left", Reset: "X-Quota-Reset", Form: ResetSeconds}, Now: func() time.Time { return noon }})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Get(t.Context(), "/", nil)
	if limited, ok := err.(*fetcher.RateLimitError); !ok || limited.RetryAfter != 45*time.Second {
		t.Errorf("error %v, want one that asks for 45 s", err)
	}
}

func TestQuotaRefuses(t *testing.T) {
	for want, q := range map[string]Quota{
		"Quota.Remaining is missing":                         {Reset: "X-Reset"},
		"Quota.Remaining is missing: want the":               {Form: ResetUnix},
		`Quota.Limit "X Limit" is not allowed`:               {Remaining: "X", Limit: "X Limit"},
		`Quota.Reset "X-Reset:" is not allowed`:              {Remaining: "X", Reset: "X-Reset:"},
		"Quota.Form 4 is not allowed: want ResetAny, ResetS": {Remaining: "X", Form: 4},
	} {
		if _, err := New(Config{BaseURL: "https://social.example", Quota: q}); err == nil || !strings.HasPrefix(err.Error(), "upstream: "+want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// FuzzReset: no value gives a time later than MaxWait from now.
func FuzzReset(f *testing.F) {
	for _, s := range []string{"", "45", "1772367300", "1e300", "-1", "NaN", "Inf", "2026-03-01T12:05:00Z", "Sun, 01 Mar 2026 12:01:30 GMT"} {
		f.Add(uint8(0), s)
	}
	f.Fuzz(func(t *testing.T, form uint8, s string) {
		if got := ResetForm(form%4).parse(s, noon); got.After(noon.Add(MaxWait)) {
			t.Errorf("%s %q gives %s", ResetForm(form%4), s, got)
		}
	})
}
