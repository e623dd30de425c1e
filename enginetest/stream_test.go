package enginetest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/fetcher"
)

func TestStreamBringsPosts(t *testing.T) {
	onPlatform(t, enginetest.StreamConfig{Lag: time.Second}, func(t *testing.T, p *enginetest.Platform, s *enginetest.PlatformStreamer) {
		p.Post("nasa", "before")
		<-time.After(time.Millisecond)
		l := listen(t, s, fetcher.StreamQuery{Accounts: named("@NASA", "esa", "nobody")})
		if got := l.first().Accounts; len(got) != 2 || got[0].Username != "@NASA" || got[1].Username != "esa" {
			t.Errorf("up with %v, want the two accounts that there are, as they were named", got)
		}
		l.wants("up", "at first")
		one := p.Post("nasa", "one")
		p.Post("jaxa", "another's")
		p.Post("esa", "two")
		l.after(time.Second-1).wants("before", "before the lag is over")
		<-time.After(1)
		g := l.first()
		if string(g.Post.AppendJSON(nil)) != string(one.AppendJSON(nil)) || g.Post.UserID != one.UserID || !g.At.Equal(time.Now()) {
			t.Errorf("brings %+v at %s, want the post as readers see it", g.Post, g.At)
		}
		l.wants("one, two", "after the lag")
		l.stop()
	})
}

func TestStreamBringsWhatReadersSee(t *testing.T) {
	for _, c := range []struct {
		name   string
		script func(p *enginetest.Platform)
		want   string // within ten minutes
	}{
		{"a post that is visible late", func(p *enginetest.Platform) {
			p.PostAt("nasa", "late", time.Now(), time.Now().Add(2*time.Minute))
			p.PostAt("nasa", "early", time.Now(), time.Now().Add(time.Minute))
		}, "early, late"},
		{"a post of the past is new to the stream", func(p *enginetest.Platform) {
			<-time.After(time.Minute)
			p.PostAt("nasa", "old", time.Now().Add(-time.Minute), time.Time{})
		}, "old"},
		{"an edit", func(p *enginetest.Platform) {
			id := p.Post("nasa", "one").ID
			<-time.After(time.Second)
			p.Edit("nasa", id, "two")
		}, "one, edit two"},
		{"a post that was edited before it is visible", func(p *enginetest.Platform) {
			p.Edit("nasa", p.PostAt("nasa", "one", time.Now(), time.Now().Add(time.Minute)).ID, "two")
		}, "two"},
		{"a deletion", func(p *enginetest.Platform) {
			id := p.Post("nasa", "one").ID
			<-time.After(time.Second)
			p.Delete("nasa", id)
			p.Delete("nasa", id)
		}, "one, delete"},
		{"nothing of a post that was deleted before it is visible", func(p *enginetest.Platform) {
			p.Delete("nasa", p.PostAt("nasa", "one", time.Now(), time.Now().Add(time.Minute)).ID)
		}, ""},
		{"the posts of a closed account when it opens", func(p *enginetest.Platform) {
			p.SetProtected("nasa", true)
			p.SetSuspended("esa", true)
			p.Post("nasa", "hidden")
			p.Post("esa", "more hidden")
			p.Delete("nasa", p.Post("nasa", "gone").ID)
			<-time.After(time.Minute)
			p.Post("jaxa", "meanwhile")
			<-time.After(time.Minute)
			p.SetProtected("nasa", false)
		}, "meanwhile, hidden"},
		{"a renamed account", func(p *enginetest.Platform) {
			p.Rename("nasa", "nasa2")
			p.Post("nasa2", "one")
		}, "one"},
	} {
		t.Run(c.name, func(t *testing.T) {
			onPlatform(t, enginetest.StreamConfig{}, func(t *testing.T, p *enginetest.Platform, s *enginetest.PlatformStreamer) {
				l := listen(t, s, fetcher.StreamQuery{Accounts: named("nasa", "esa", "jaxa")})
				l.wants("up", "at first")
				c.script(p)
				l.after(10*time.Minute).wants(c.want, c.name)
				l.stop()
			})
		})
	}
}

// A streamer that is made while posts are on their way sends them.
func TestStreamBringsPostsToCome(t *testing.T) {
	onPlatform(t, enginetest.StreamConfig{}, func(t *testing.T, p *enginetest.Platform, _ *enginetest.PlatformStreamer) {
		p.Post("nasa", "there")
		p.SetProtected("esa", true)
		p.Post("esa", "hidden")
		p.PostAt("nasa", "to come", time.Now(), time.Now().Add(time.Minute))
		p.Delete("nasa", p.PostAt("nasa", "deleted", time.Now(), time.Now().Add(time.Minute)).ID)
		l := listen(t, p.Streamer(enginetest.StreamConfig{HeartbeatEvery: -1}), fetcher.StreamQuery{})
		p.SetProtected("esa", false)
		l.after(time.Hour).wants("up, hidden, to come", "in an hour")
		l.stop()
	})
}

func TestEditedPostIsOnItsPage(t *testing.T) {
	p := newPlatform(newClock(), enginetest.PlatformConfig{})
	id := p.Post("nasa", "one").ID
	before := read(t, p, fetcher.TimelineQuery{Username: "nasa"})
	p.Edit("nasa", id, "two")
	after := read(t, p, fetcher.TimelineQuery{Username: "nasa"})
	found, err := p.Search(t.Context(), fetcher.SearchQuery{Query: "from:nasa"})
	if err != nil || texts(before) != "one" || texts(after) != "two" || texts(found) != "two" || after.Tweets[0].ID != id {
		t.Errorf("pages show %q, %q and %q (%v), want one, two, two, under one id", texts(before), texts(after), texts(found), err)
	}
	if truth := p.Posted(); len(truth) != 1 || truth[0].Text != "one" {
		t.Errorf("posted %+v, want the first text", truth)
	}
	wantPanic(t, "has no post", func() { p.Edit("esa", id, "x") })
	wantPanic(t, "empty text", func() { p.Edit("nasa", id, "") })
}

func wantPanic(t *testing.T, text string, f func()) {
	t.Helper()
	defer func() {
		if got := fmt.Sprint(recover()); !strings.Contains(got, text) {
			t.Errorf("panics with %q, want %q in it", got, text)
		}
	}()
	f()
}

func TestStreamHeartbeats(t *testing.T) {
	onPlatform(t, enginetest.StreamConfig{HeartbeatEvery: 10 * time.Second}, func(t *testing.T, p *enginetest.Platform, s *enginetest.PlatformStreamer) {
		l := listen(t, s, fetcher.StreamQuery{})
		p.Post("jaxa", "another's")
		l.after(30*time.Second).wants("up, beat, beat, beat", "in half a minute")
		resumed := listen(t, s, fetcher.StreamQuery{Accounts: named("jaxa"), Position: l.last()})
		resumed.wants("resumed", "from a heartbeat, after the post before it")
		if n := s.Stats(); n.Heartbeats != 3 || n.Open != 2 || n.Connects != 2 || n.Resumes != 1 {
			t.Errorf("stats %+v", n)
		}
		l.stop()
		resumed.stop()
	})
}

func TestStreamResumes(t *testing.T) {
	onPlatform(t, enginetest.StreamConfig{}, func(t *testing.T, p *enginetest.Platform, s *enginetest.PlatformStreamer) {
		l := listen(t, s, fetcher.StreamQuery{})
		atFirst := l.last()
		p.Post("nasa", "one")
		l.wants("up, one", "while connected")
		l.stop()
		id := p.Post("esa", "two").ID
		p.Post("jaxa", "another's")
		p.Edit("esa", id, "three")
		id = p.Post("nasa", "four").ID
		<-time.After(time.Second)
		p.Delete("nasa", id)
		for from, want := range map[string]string{
			l.last(): "resumed, three, edit three, four, delete",
			atFirst:  "resumed, one, three, edit three, four, delete",
			"":       "up",
			"1.99":   "up",
			"2.0":    "up",
			"soon":   "up",
		} {
			l := listen(t, s, fetcher.StreamQuery{Position: from})
			l.wants(want, fmt.Sprintf("from %q", from))
			l.stop()
		}
		other := listen(t, p.Streamer(enginetest.StreamConfig{HeartbeatEvery: -1}), fetcher.StreamQuery{Position: atFirst})
		other.wants("up", "from a position of another streamer")
		other.stop()
	})
}

func TestStreamClampsOldPositions(t *testing.T) {
	for _, silently := range []bool{false, true} {
		want := map[bool]string{false: "up", true: "resumed"}[silently]
		onPlatform(t, enginetest.StreamConfig{ClampSilently: silently}, func(t *testing.T, p *enginetest.Platform, s *enginetest.PlatformStreamer) {
			l := listen(t, s, fetcher.StreamQuery{})
			last := l.last()
			l.stop()
			<-time.After(48 * time.Hour)
			l = listen(t, s, fetcher.StreamQuery{Position: last})
			l.wants("resumed", "when nothing has come since")
			l.stop()
			p.Post("nasa", "three")
			s.Forget()
			p.Post("nasa", "four")
			l = listen(t, s, fetcher.StreamQuery{Position: last})
			l.wants(want+", four", "after Forget")
			l.stop()
			if n := s.Stats(); n.Resumes != 2 || n.Clamped != 1 {
				t.Errorf("stats %+v, want 1 of 2 resumes clamped", n)
			}
			s.SetFaults(enginetest.StreamFaults{Clamp: 1})
			p.Post("nasa", "five")
			l = listen(t, s, fetcher.StreamQuery{Position: l.last()})
			l.wants(want, "by chance")
			l.stop()
		})
	}
}

func TestStreamWithoutPositions(t *testing.T) {
	onPlatform(t, enginetest.StreamConfig{NoPositions: true, HeartbeatEvery: time.Second}, func(t *testing.T, p *enginetest.Platform, s *enginetest.PlatformStreamer) {
		l := listen(t, s, fetcher.StreamQuery{Position: "1.0"})
		p.Post("nasa", "one")
		if l.after(time.Second).wants("up, one, beat", "at first"); l.last() != "" {
			t.Errorf("position %q, want none", l.last())
		}
		l.stop()
	})
}

// What a stream leaves out by design is not brought, and Brings says so.
func TestStreamLeavesOut(t *testing.T) {
	reply := func(t *fetcher.Tweet) bool { return t.InReplyToStatusID != "" }
	onPlatform(t, enginetest.StreamConfig{LeavesOut: reply}, func(t *testing.T, p *enginetest.Platform, s *enginetest.PlatformStreamer) {
		l := listen(t, s, fetcher.StreamQuery{})
		one := p.Post("nasa", "one")
		two := p.Post("esa", "two", enginetest.ReplyTo(one))
		p.Edit("esa", two.ID, "three")
		l.wants("up, one", "without the reply")
		if !s.Brings(&one) || s.Brings(&two) {
			t.Errorf("brings %t and %t, want the first alone", s.Brings(&one), s.Brings(&two))
		}
		l.stop()
	})
}

// Stream returns what emit does, and when the context ends while it connects.
func TestStreamReturns(t *testing.T) {
	onPlatform(t, enginetest.StreamConfig{}, func(t *testing.T, p *enginetest.Platform, s *enginetest.PlatformStreamer) {
		enough := errors.New("enough")
		for _, kind := range []fetcher.SignalKind{fetcher.SignalUp, fetcher.SignalAccounts, fetcher.SignalPost} {
			changes := make(chan []fetcher.Account, 1)
			q := fetcher.StreamQuery{Accounts: named("nasa"), Changes: changes}
			err := s.Stream(t.Context(), q, func(g fetcher.Signal) error {
				switch g.Kind {
				case kind:
					return enough
				case fetcher.SignalUp:
					changes <- named("nasa")
				case fetcher.SignalAccounts:
					p.Post("nasa", "one")
				}
				return nil
			})
			if !errors.Is(err, enough) {
				t.Errorf("ended with %v, want what emit said of signal %d", err, kind)
			}
		}
		slow := enginetest.NewPlatform(enginetest.PlatformConfig{Latency: time.Minute})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := slow.Streamer(enginetest.StreamConfig{}).Stream(ctx, fetcher.StreamQuery{}, nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("ended with %v while it connects", err)
		}
		if n := s.Stats().Open; n != 0 {
			t.Errorf("%d connections are left", n)
		}
	})
}

func TestStreamConfigRefuses(t *testing.T) {
	p := enginetest.NewPlatform(enginetest.PlatformConfig{})
	type faults = enginetest.StreamFaults
	for want, cfg := range map[string]enginetest.StreamConfig{
		"StreamConfig.Lag -1ns is not allowed: want 0 or a positive duration": {Lag: -1},
		"Faults.Drop 1.5 is not allowed: want 0 to 1":                         {Faults: faults{Drop: 1.5}},
		"Faults.Duplicate -1":  {Faults: faults{Duplicate: -1}},
		"Faults.Disorder -1ns": {Faults: faults{Disorder: -1}},
		"Faults.Refuse 2":      {Faults: faults{Refuse: 2}},
		"Faults.Clamp 2":       {Faults: faults{Clamp: 2}},
		"Faults.DisconnectAfter -1s is not allowed: want 0 (never)": {Faults: faults{DisconnectAfter: -time.Second}},
		"Faults.HalfOpenAfter": {Faults: faults{HalfOpenAfter: -1}},
		"Faults.StallAfter":    {Faults: faults{StallAfter: -1}},
	} {
		wantPanic(t, want, func() { p.Streamer(cfg) })
	}
	wantPanic(t, "Faults.Drop", func() { p.Streamer(enginetest.StreamConfig{}).SetFaults(faults{Drop: 2}) })
}
