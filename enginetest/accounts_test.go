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

func TestAccountStates(t *testing.T) {
	find := func(q fetcher.TimelineQuery) func(p *enginetest.Platform) error {
		return func(p *enginetest.Platform) error {
			_, err := p.Timeline(context.Background(), q)
			return err
		}
	}
	byName := find(fetcher.TimelineQuery{Username: "nasa"})
	for _, tc := range []struct {
		name   string
		script func(p *enginetest.Platform)
		read   func(p *enginetest.Platform) error
		want   error
	}{
		{"a known handle", func(*enginetest.Platform) {}, byName, nil},
		{"in another case, with @", func(*enginetest.Platform) {}, find(fetcher.TimelineQuery{Username: "@NaSa"}), nil},
		{"an unknown handle", func(*enginetest.Platform) {}, find(fetcher.TimelineQuery{Username: "nobody"}), fetcher.ErrNotFound},
		{"no handle", func(*enginetest.Platform) {}, find(fetcher.TimelineQuery{}), fetcher.ErrNotFound},
		{"an unknown id", func(*enginetest.Platform) {}, find(fetcher.TimelineQuery{Username: "nasa", UserID: "1"}), fetcher.ErrNotFound},
		{"protected", func(p *enginetest.Platform) { p.SetProtected("nasa", true) }, byName, fetcher.ErrProtected},
		{"public again", func(p *enginetest.Platform) { p.SetProtected("nasa", true); p.SetProtected("nasa", false) }, byName, nil},
		{"suspended", func(p *enginetest.Platform) { p.SetSuspended("nasa", true) }, byName, fetcher.ErrProtected},
		{"unsuspended but protected", func(p *enginetest.Platform) {
			p.SetProtected("nasa", true)
			p.SetSuspended("nasa", true)
			p.SetSuspended("nasa", false)
		}, byName, fetcher.ErrProtected},
		{"the old handle after a rename", func(p *enginetest.Platform) { p.Rename("nasa", "space") }, byName, fetcher.ErrNotFound},
		{"the new handle after a rename", func(p *enginetest.Platform) { p.Rename("nasa", "space") }, find(fetcher.TimelineQuery{Username: "space"}), nil},
		{"the id after a rename", func(p *enginetest.Platform) { p.Rename("nasa", "space") }, find(fetcher.TimelineQuery{Username: "nasa", UserID: "100001"}), nil},
		{"a handle in another spelling", func(p *enginetest.Platform) { p.Rename("nasa", "NASA") }, byName, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := newPlatform(newClock(), enginetest.PlatformConfig{})
			tc.script(p)
			if err := tc.read(p); !errors.Is(err, tc.want) {
				t.Errorf("error %v, want %v", err, tc.want)
			}
		})
	}
}

func TestPostedIsWhatWasShown(t *testing.T) {
	for _, tc := range []struct {
		name   string
		script func(p *enginetest.Platform, c *clock)
		want   string // account:text, or with DeletedAt a - before it
	}{
		{"posts of all accounts", func(p *enginetest.Platform, c *clock) {
			p.Post("esa", "a")
			p.Post("nasa", "b")
		}, "esa:a nasa:b"},
		{"by the time they appeared", func(p *enginetest.Platform, c *clock) {
			p.PostAt("nasa", "late", c.now.Add(-time.Minute), c.now)
			p.PostAt("nasa", "early", c.now.Add(-time.Second), time.Time{})
		}, "nasa:early nasa:late"},
		{"not what is to come", func(p *enginetest.Platform, c *clock) {
			p.PostAt("nasa", "later", c.now, c.now.Add(time.Second))
		}, ""},
		{"with what was deleted", func(p *enginetest.Platform, c *clock) {
			id := p.Post("nasa", "a").ID
			c.advance(time.Second)
			p.Delete("nasa", id)
		}, "-nasa:a"},
		{"not what was deleted before it appeared", func(p *enginetest.Platform, c *clock) {
			p.Delete("nasa", p.PostAt("nasa", "a", c.now, c.now.Add(time.Second)).ID)
			c.advance(time.Minute)
		}, ""},
		{"under the handle an account began with", func(p *enginetest.Platform, c *clock) {
			p.Rename("nasa", "space")
			p.Post("space", "a")
		}, "nasa:a"},
		{"not what a protected account posts", func(p *enginetest.Platform, c *clock) {
			p.Post("nasa", "before")
			c.advance(time.Second)
			p.SetProtected("nasa", true)
			p.Post("nasa", "meanwhile")
			c.advance(time.Second)
		}, "nasa:before"},
		{"from when it is public again", func(p *enginetest.Platform, c *clock) {
			p.SetProtected("nasa", true)
			p.Post("nasa", "meanwhile")
			c.advance(time.Second)
			p.Post("esa", "other")
			c.advance(time.Second)
			p.SetProtected("nasa", false)
		}, "esa:other nasa:meanwhile"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newClock()
			p := newPlatform(c, enginetest.PlatformConfig{})
			tc.script(p, c)
			var got []string
			for _, tr := range p.Posted() {
				s := tr.Account + ":" + tr.Text
				if !tr.DeletedAt.IsZero() {
					s = "-" + s
				}
				got = append(got, s)
			}
			if s := strings.Join(got, " "); s != tc.want {
				t.Errorf("Posted has %q, want %q", s, tc.want)
			}
		})
	}
}

func TestMistakesPanic(t *testing.T) {
	for _, tc := range []struct {
		name string
		do   func(p *enginetest.Platform)
		want string
	}{
		{"an unknown account", func(p *enginetest.Platform) { p.Post("nobody", "x") }, `account "nobody" does not exist`},
		{"an unknown post", func(p *enginetest.Platform) { p.Delete("nasa", "1") }, `account "nasa" has no post "1"`},
		{"another account's post", func(p *enginetest.Platform) { p.Delete("nasa", p.Post("esa", "x").ID) }, `account "nasa" has no post`},
		{"a handle that is taken", func(p *enginetest.Platform) { p.Rename("nasa", "ESA") }, `handle "ESA" is taken`},
		{"a handle with a space", func(p *enginetest.Platform) { p.Rename("nasa", "a b") }, `handle "a b" is not allowed`},
		{"a time before 2000", func(p *enginetest.Platform) { p.PostAt("nasa", "x", time.Time{}, time.Time{}) }, "published 0001-01-01"},
		{"two accounts of one name", func(*enginetest.Platform) {
			enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"a", "A"}})
		}, `handle "A" is taken`},
		{"a share above 1", func(*enginetest.Platform) {
			enginetest.NewPlatform(enginetest.PlatformConfig{LateShare: 1.5})
		}, "LateShare 1.5 is not allowed: want 0 to 1"},
		{"faults above 1 together", func(*enginetest.Platform) {
			enginetest.NewPlatform(enginetest.PlatformConfig{Faults: enginetest.Faults{HTML: 0.6, ServerError: 0.6}})
		}, "Faults"},
		{"a negative share", func(*enginetest.Platform) {
			enginetest.NewPlatform(enginetest.PlatformConfig{Faults: enginetest.Faults{HTML: -0.1}})
		}, "Faults"},
		{"a negative page size", func(*enginetest.Platform) {
			enginetest.NewPlatform(enginetest.PlatformConfig{PageSize: -1})
		}, "PageSize -1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := newPlatform(newClock(), enginetest.PlatformConfig{})
			defer func() {
				if got := fmt.Sprint(recover()); !strings.Contains(got, tc.want) {
					t.Errorf("panic %q, want one that says %q", got, tc.want)
				}
				p.Post("esa", "the platform is still usable")
			}()
			tc.do(p)
		})
	}
}
