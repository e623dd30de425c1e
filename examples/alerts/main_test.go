package main

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/enginetest"
)

func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // time passes when all goroutines wait
		platform := enginetest.NewPlatform(enginetest.PlatformConfig{
			Accounts:  []string{"nasa", "esa"},
			LateShare: 0.5, LateUpTo: 30 * time.Second, // half of the posts are shown later, out of order
			Faults: enginetest.Faults{ServerError: 0.1, Truncated: 0.1},
		})
		platform.Post("nasa", "The Moon, before anybody watched")
		<-time.After(time.Hour)
		var mu sync.Mutex
		var lines []string
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() {
			done <- watch(ctx, platform, "moon", []string{"nasa", "esa"}, func(line string) {
				mu.Lock()
				defer mu.Unlock()
				lines = append(lines, line)
			})
		}()
		// said returns what was said in the hour after something has happened.
		said := func(happens func()) []string {
			happens()
			<-time.After(time.Hour)
			mu.Lock()
			defer mu.Unlock()
			slices.Sort(lines)
			defer func() { lines = nil }()
			return lines
		}
		<-time.After(time.Minute)
		for _, row := range []struct {
			what    string
			happens func()
			want    []string
		}{
			{"posts with the word and without it", func() {
				platform.Post("nasa", "To the Moon!")
				platform.Post("nasa", "To Mars!")
				platform.Post("esa", "A moonlit night")
			}, []string{"@esa: A moonlit night", "@nasa: To the Moon!"}},
			{"nothing", func() {}, nil},
			{"an account is closed", func() { platform.SetProtected("esa", true) }, []string{"cannot read @esa"}},
			{"it is opened again, with a post", func() {
				platform.Post("esa", "Posted behind a closed door, on the moon")
				platform.SetProtected("esa", false)
			}, []string{"@esa: Posted behind a closed door, on the moon"}},
		} {
			if got := said(row.happens); !slices.Equal(got, row.want) {
				t.Errorf("%s: said %q, want %q", row.what, got, row.want)
			}
		}
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
