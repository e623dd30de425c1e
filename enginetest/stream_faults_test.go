package enginetest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/fetcher"
)

// What breaks a connection does so at a moment that a test chooses.
func TestStreamFaultsAtAMoment(t *testing.T) {
	onPlatform(t, enginetest.StreamConfig{HeartbeatEvery: time.Minute}, func(t *testing.T, p *enginetest.Platform, s *enginetest.PlatformStreamer) {
		l := listen(t, s, fetcher.StreamQuery{})
		p.Post("nasa", "one")
		l.wants("up, one", "at first")
		s.Disconnect()
		p.Post("nasa", "two")
		if err := l.over(); err == nil || errors.Is(err, context.Canceled) {
			t.Errorf("disconnected with %v", err)
		}

		l = listen(t, s, fetcher.StreamQuery{Position: l.last()})
		l.wants("resumed, two", "after a disconnect")
		s.Stall()
		p.Post("nasa", "three")
		l.changes <- named("nasa")
		l.after(90*time.Second).wants("accounts nasa, beat", "stalled")
		s.Stall()
		s.Disconnect()
		l.over()

		l = listen(t, s, fetcher.StreamQuery{Position: l.last()})
		l.wants("resumed, three", "after a stall")
		s.SetFaults(enginetest.StreamFaults{HalfOpenAfter: 1})
		l.stop()
		l = listen(t, s, fetcher.StreamQuery{})
		<-time.After(time.Second)
		p.Post("nasa", "four")
		s.Disconnect()
		s.Stall()
		l.changes <- named("esa")
		l.after(48*time.Hour).wants("up", "half-open")
		l.stop()

		s.SetFaults(enginetest.StreamFaults{Refuse: 1})
		var status *fetcher.StatusError
		if err := listen(t, s, fetcher.StreamQuery{}).over(); !errors.As(err, &status) || status.Code != 503 {
			t.Errorf("refused with %v, want 503", err)
		}
		if n, want := s.Stats(), (enginetest.StreamStats{Connects: 4, Refused: 1, Resumes: 2, Disconnects: 2, HalfOpens: 1, Stalls: 1, Posts: 3, Heartbeats: 1}); n != want {
			t.Errorf("stats %+v, want %+v", n, want)
		}
	})
}

// heardOf is what came of n posts, one a second, under faults.
func heardOf(t *testing.T, n int, f enginetest.StreamFaults) (brought []string, stats enginetest.StreamStats) {
	onPlatform(t, enginetest.StreamConfig{Faults: f}, func(t *testing.T, p *enginetest.Platform, s *enginetest.PlatformStreamer) {
		l := listen(t, s, fetcher.StreamQuery{})
		l.wants("up", "at first")
		for i := range n {
			p.Post("nasa", fmt.Sprintf("%04d", i))
			<-time.After(time.Second)
		}
		<-time.After(time.Hour)
		brought, stats = strings.Split(l.heard(), ", "), s.Stats()
		l.stop()
	})
	return brought, stats
}

func TestStreamDropsPosts(t *testing.T) {
	brought, stats := heardOf(t, 1000, enginetest.StreamFaults{Drop: 0.1})
	if d := stats.Dropped; d < 60 || d > 140 || len(brought) != 1000-d || stats.Posts != 1000-d || !slices.IsSorted(brought) {
		t.Errorf("brought %d of 1000, stats %+v, want a tenth dropped", len(brought), stats)
	}
	again, _ := heardOf(t, 1000, enginetest.StreamFaults{Drop: 0.1})
	if !slices.Equal(brought, again) {
		t.Error("the same seed drops others")
	}
	onPlatform(t, enginetest.StreamConfig{}, func(t *testing.T, p *enginetest.Platform, s *enginetest.PlatformStreamer) {
		l := listen(t, s, fetcher.StreamQuery{})
		s.SetFaults(enginetest.StreamFaults{Drop: 1})
		id := p.Post("nasa", "one").ID
		s.SetFaults(enginetest.StreamFaults{})
		p.Post("nasa", "two")
		p.Edit("nasa", id, "edited")
		l.wants("up, two, edit edited", "when one is dropped")
		l.stop()
	})
}

func TestStreamDuplicatesPosts(t *testing.T) {
	brought, stats := heardOf(t, 1000, enginetest.StreamFaults{Duplicate: 0.1})
	if d := stats.Duplicated; d < 60 || d > 140 || len(brought) != 1000+d || len(slices.Compact(slices.Sorted(slices.Values(brought)))) != 1000 {
		t.Errorf("brought %d for 1000, stats %+v, want a tenth twice", len(brought), stats)
	}
}

// firsts leaves out what came before.
func firsts(all []string) (once []string) {
	for _, s := range all {
		if !slices.Contains(once, s) {
			once = append(once, s)
		}
	}
	return once
}

func TestStreamDisordersPosts(t *testing.T) {
	brought, stats := heardOf(t, 300, enginetest.StreamFaults{Disorder: 10 * time.Second, Duplicate: 0.1})
	if slices.IsSorted(firsts(brought)) || len(slices.Compact(slices.Sorted(slices.Values(brought)))) != 300 || stats.Dropped != 0 {
		t.Errorf("brought %d of 300 posts, in order %t", len(brought), slices.IsSorted(brought))
	}
	number := func(text string) int {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	for i, text := range brought {
		for _, later := range brought[i+1:] {
			if number(text)-number(later) > 10 {
				t.Fatalf("%s came before %s, want a disorder of up to 10 s", text, later)
			}
		}
	}
}

// Faults strike when their time has come, although nothing else happens.
func TestStreamFaultsStrikeInTime(t *testing.T) {
	onPlatform(t, enginetest.StreamConfig{Faults: enginetest.StreamFaults{DisconnectAfter: time.Minute}}, func(t *testing.T, p *enginetest.Platform, s *enginetest.PlatformStreamer) {
		for range 100 {
			begun := time.Now()
			if err := s.Stream(t.Context(), fetcher.StreamQuery{}, func(fetcher.Signal) error { return nil }); err == nil {
				t.Fatal("ended without an error")
			}
			if d := time.Since(begun); d > 12*time.Minute { // e^-12
				t.Fatalf("broken after %s, want a minute or so", d)
			}
		}
	})
	onPlatform(t, enginetest.StreamConfig{Faults: enginetest.StreamFaults{HalfOpenAfter: time.Minute, StallAfter: time.Minute}}, func(t *testing.T, p *enginetest.Platform, s *enginetest.PlatformStreamer) {
		var all []*listening
		for range 20 {
			all = append(all, listen(t, s, fetcher.StreamQuery{}))
		}
		<-time.After(20 * time.Minute)
		if n := s.Stats(); n.HalfOpens != 20 || n.Stalls < 4 || n.Stalls > 16 {
			t.Errorf("stats %+v, want all half-open, and about half of them stalled before", n)
		}
		for _, l := range all {
			l.stop()
		}
	})
}

// Faults break connections by chance about as often as configured, and
// whoever resumes loses nothing.
func TestStreamFaultsByChance(t *testing.T) {
	onPlatform(t, enginetest.StreamConfig{HeartbeatEvery: time.Second, Faults: enginetest.StreamFaults{
		DisconnectAfter: time.Minute, HalfOpenAfter: 2 * time.Minute, StallAfter: 2 * time.Minute, Refuse: 0.2,
	}}, func(t *testing.T, p *enginetest.Platform, s *enginetest.PlatformStreamer) {
		l := listenOn(t, s)
		if err := p.Run(t.Context(), enginetest.PostRate{PerSecond: 1, Total: 20_000}); err != nil {
			t.Fatal(err)
		}
		s.SetFaults(enginetest.StreamFaults{})
		s.Disconnect()
		<-time.After(time.Hour)
		l.cancel()
		<-l.done
		if len(l.posts) != 20_000 {
			t.Errorf("brought %d posts, want all 20,000", len(l.posts))
		}
		n := s.Stats()
		if n.Open != 0 || n.Refused < n.Connects/8 || n.Refused > n.Connects/3 || n.Resumes != n.Connects-1 || n.Clamped != 0 {
			t.Errorf("stats %+v, want a fifth refused, and all resumed", n)
		}
		if n.Disconnects < 100 || n.HalfOpens < 50 || n.Stalls < 50 {
			t.Errorf("stats %+v, want them all to happen often", n)
		}
	})
}

// client listens as a careful one does: it connects again, and does not trust a
// connection that sends nothing for a while.
type client struct {
	posts  map[string]bool
	cancel context.CancelFunc
	done   chan struct{}
}

func listenOn(t *testing.T, s *enginetest.PlatformStreamer) *client {
	ctx, cancel := context.WithCancel(t.Context())
	c := &client{posts: map[string]bool{}, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(c.done)
		for position := ""; ctx.Err() == nil; {
			call, stop := context.WithCancel(ctx)
			patience := time.AfterFunc(20*time.Second, stop)
			_ = s.Stream(call, fetcher.StreamQuery{Accounts: named("nasa", "esa", "jaxa"), Position: position}, func(g fetcher.Signal) error {
				if g.Kind == fetcher.SignalPost {
					patience.Reset(20 * time.Second)
					c.posts[g.Post.ID] = true
				}
				if g.Position != "" {
					position = g.Position
				}
				return nil
			})
			stop()
			patience.Stop()
		}
	}()
	synctest.Wait()
	return c
}
