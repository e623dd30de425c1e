package dispatch

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
)

// 400 days of attempts, so long apart, and when the endpoint is disabled.
func TestHealthOfYears(t *testing.T) {
	const day = 24 * time.Hour
	never := time.Duration(-1)
	rnd := rand.New(rand.NewPCG(1, 2))
	failed, gone, ok := deliver.Result{StatusCode: 500}, deliver.Result{StatusCode: 410, Permanent: true}, deliver.Result{OK: true, StatusCode: 200}
	for _, row := range []struct {
		name     string
		every    time.Duration
		result   func(n int) deliver.Result // of the n-th attempt, from 0
		failing  int                        // NoticeFailing so often until then
		disabled time.Duration
	}{
		{"all succeed", time.Hour, func(int) deliver.Result { return ok }, 0, never},
		{"all fail, each minute", time.Minute, func(int) deliver.Result { return failed }, 1, day},
		{"all fail, each hour", time.Hour, func(int) deliver.Result { return failed }, 1, day},
		{"all fail, each two hours: the twentieth", 2 * time.Hour, func(int) deliver.Result { return failed }, 1, 38 * time.Hour},
		{"all fail, one a day", day, func(int) deliver.Result { return failed }, 1, 19 * day},
		{"all fail, one in 20 days", 20 * day, func(int) deliver.Result { return failed }, 1, 380 * day},
		{"all fail, one in 30 days", 30 * day, func(int) deliver.Result { return failed }, 1, never},
		{"one success every 24 h", time.Hour, func(n int) deliver.Result {
			if n%24 == 23 {
				return ok
			}
			return failed
		}, 400, never},
		{"one success in 24 h and a minute", time.Minute, func(n int) deliver.Result {
			if n%1442 == 1441 {
				return ok
			}
			return failed
		}, 1, day},
		{"half of them fail, by chance", time.Minute, func(int) deliver.Result {
			if rnd.IntN(2) == 0 {
				return ok
			}
			return failed
		}, -1, never},
		{"410 three times in a row", time.Hour, func(int) deliver.Result { return gone }, 0, 2 * time.Hour},
		{"410 twice, then another failure, for ever", 20 * time.Hour, func(n int) deliver.Result {
			if n%3 == 2 {
				return failed
			}
			return gone
		}, 1, 380 * time.Hour},
		{"410 twice, then a success, for ever", time.Hour, func(n int) deliver.Result {
			if n%3 == 2 {
				return ok
			}
			return gone
		}, 0, never},
	} {
		t.Run(row.name, func(t *testing.T) {
			var h health
			began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			failing, disabled := 0, never
			for n := 0; time.Duration(n)*row.every <= 400*day && disabled == never; n++ {
				at := began.Add(time.Duration(n) * row.every)
				res := row.result(n)
				switch v := h.record(at, &res, false); v.Kind {
				case deliver.NoticeFailing:
					failing++
				case deliver.NoticeDisabled:
					disabled = at.Sub(began)
					if v.Reason == "" || v.Since.After(at) {
						t.Errorf("disabled for %q since %s", v.Reason, v.Since)
					}
				}
			}
			if disabled != row.disabled || row.failing >= 0 && failing != row.failing {
				t.Errorf("failing %d times, disabled after %s; want %d and %s", failing, disabled, row.failing, row.disabled)
			}
		})
	}
}

// A receiver that only asks for waits is failing after an hour without success,
// and disabled after a day.
func TestAskingForeverIsFailing(t *testing.T) {
	var h health
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(minutes int) time.Time { return began.Add(time.Duration(minutes) * time.Minute) }
	asked, took := deliver.Result{StatusCode: 429, Error: "status 429"}, deliver.Result{OK: true}
	for m := 0; m < 60; m++ {
		if kind := h.record(at(m), &asked, true).Kind; kind != "" {
			t.Fatalf("%s after %d minutes of waits", kind, m)
		}
	}
	for m := 60; m <= 25*60; m++ {
		v := h.record(at(m), &asked, true)
		want := map[int]deliver.NoticeKind{69: deliver.NoticeFailing, 25 * 60: deliver.NoticeDisabled}[m]
		if v.Kind != want || v.Kind != "" && !v.Since.Equal(at(60)) {
			t.Fatalf("minute %d: told %q since %s, want %q since %s", m, v.Kind, v.Since, want, at(60))
		}
	}
	h = health{}
	for m := range 48 * 60 {
		if m%59 == 0 {
			h.record(at(m), &took, false)
		} else if kind := h.record(at(m), &asked, true).Kind; kind != "" {
			t.Fatalf("%s in minute %d, though something succeeds each hour", kind, m)
		}
	}
}
