package enginetest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/fetcher"
)

func TestRunPostsAtARate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := enginetest.NewPlatform(enginetest.PlatformConfig{Seed: 5})
		begun := time.Now()
		if err := p.Run(t.Context(), enginetest.PostRate{PerSecond: 4, Total: 2000}); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begun); took < 450*time.Second || took > 550*time.Second {
			t.Errorf("2000 posts took %s, want about 500s", took)
		}
		perAccount := make(map[string]int)
		for _, tr := range p.Posted() {
			perAccount[tr.Account]++
		}
		if len(perAccount) != 10 {
			t.Errorf("%d accounts posted, want all 10", len(perAccount))
		}
		for name, n := range perAccount {
			if n < 140 || n > 260 {
				t.Errorf("%s posted %d times, want about 200", name, n)
			}
		}
	})
}

func TestRunEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := enginetest.NewPlatform(enginetest.PlatformConfig{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		begun := time.Now()
		if err := p.Run(ctx, enginetest.PostRate{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v, want the deadline", err)
		}
		if took := time.Since(begun); took != time.Hour {
			t.Errorf("ran for %s, want an hour", took)
		}
		if n := len(p.Posted()); n < 3300 || n > 3900 {
			t.Errorf("%d posts in an hour, want about one a second", n)
		}
	})
}

func TestRunRefuses(t *testing.T) {
	for _, tc := range []struct {
		name string
		cfg  enginetest.PlatformConfig
		rate enginetest.PostRate
	}{
		{"a negative rate", enginetest.PlatformConfig{}, enginetest.PostRate{PerSecond: -1}},
		{"a negative total", enginetest.PlatformConfig{}, enginetest.PostRate{Total: -1}},
		{"a platform without accounts", enginetest.PlatformConfig{Accounts: []string{}}, enginetest.PostRate{}},
	} {
		if err := enginetest.NewPlatform(tc.cfg).Run(t.Context(), tc.rate); err == nil {
			t.Errorf("%s: no error", tc.name)
		}
	}
}

func TestSameSeedSameTruth(t *testing.T) {
	run := func(seed uint64) (truth []enginetest.Truth) {
		synctest.Test(t, func(t *testing.T) {
			p := enginetest.NewPlatform(enginetest.PlatformConfig{Seed: seed, LateShare: 0.3, Faults: enginetest.Faults{HTML: 0.2, WrongAuthor: 0.2}})
			done := make(chan error)
			go func() { done <- p.Run(t.Context(), enginetest.PostRate{PerSecond: 10, Total: 200}) }()
			// Readers change nothing, however many there are.
			for i := range seed%2*50 + 50 {
				p.Timeline(t.Context(), fetcher.TimelineQuery{Username: fmt.Sprintf("account%04d", i%10+1)})
			}
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			if err := p.Run(t.Context(), enginetest.PostRate{PerSecond: 10, Total: 50}); err != nil {
				t.Fatal(err)
			}
			<-time.After(time.Minute) // until the late ones are visible
			truth = p.Posted()
		})
		return truth
	}
	first := run(7)
	if len(first) != 250 {
		t.Fatalf("%d posts, want 250", len(first))
	}
	if !slices.Equal(first, run(7)) {
		t.Error("the same seed gave another truth")
	}
	if slices.Equal(first, run(8)) {
		t.Error("another seed gave the same truth")
	}
}

func TestRunDrawsAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := enginetest.NewPlatform(enginetest.PlatformConfig{Seed: 7})
		for range 2 {
			if err := p.Run(t.Context(), enginetest.PostRate{Total: 50}); err != nil {
				t.Fatal(err)
			}
		}
		posted := p.Posted()
		if slices.EqualFunc(posted[:50], posted[50:], func(a, b enginetest.Truth) bool { return a.Account == b.Account }) {
			t.Error("the second run repeats the first")
		}
	})
}
