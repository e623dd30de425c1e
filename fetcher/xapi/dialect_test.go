package xapi_test

import (
	"context"
	"testing"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/xapi"
	"github.com/streamwatch/streamwatch/fetcher/xapi/xapitest"
)

// An endpoint that refuses the names of one generation is asked in those of the other,
// once; what it takes is remembered.
func TestNamesAreFoundOut(t *testing.T) {
	for _, row := range []struct {
		server string
		names  xapi.Names
		calls  int // of the first page
		fails  bool
	}{
		{"tweet", xapi.NamesAuto, 1, false},
		{"either", xapi.NamesAuto, 1, false},
		{"post", xapi.NamesAuto, 2, false},
		{"post", xapi.NamesPost, 1, false},
		{"post", xapi.NamesTweet, 1, true},
		{"tweet", xapi.NamesPost, 1, true},
	} {
		t.Run(row.server+" asked in "+row.names.String(), func(t *testing.T) {
			r := newRig(t, xapitest.Config{Names: row.server}, func(cfg *xapi.Config) {
				cfg.Names, cfg.Expand = row.names, xapi.Expand{Authors: true, Posts: true, Media: true, Polls: true, Places: true}
			})
			id := r.AddAccount("ann")
			first := r.Publish("ann", xapitest.Post{Text: "hello", Long: "hello, world", Photo: "https://pbs.example/1.jpg"})
			r.Repost("ann", first)
			read := func() (fetcher.Page, error) {
				return r.Timeline(context.Background(), fetcher.TimelineQuery{Username: "ann", UserID: id})
			}
			p, err := read()
			if (err != nil) != row.fails || len(r.asked) != row.calls {
				t.Fatalf("%d requests, %v: want %d, an error %t", len(r.asked), err, row.calls, row.fails)
			}
			if row.fails {
				return
			}
			repost, post := p.Tweets[0], p.Tweets[1]
			if !repost.IsRetweet || repost.FullText != "RT @ann: hello, world" || post.FullText != "hello, world" || len(post.Media) != 1 || post.Username != "ann" || post.User == nil || post.UserID != id {
				t.Errorf("posts are %+v and %+v: want all of them", repost, post)
			}
			if p.Billed != r.Billed() || p.Billed.Posts != 2 || p.Billed.Users != 1 {
				t.Errorf("billed %+v, by the server %+v: want two posts and an author", p.Billed, r.Billed())
			}
			if _, err := read(); err != nil || len(r.asked) != row.calls+1 {
				t.Errorf("the second page takes %d requests, %v: want one", len(r.asked)-row.calls, err)
			}
		})
	}
}

// Without Expand nothing is asked for that may be billed beside the posts.
func TestNothingIsExpandedUnasked(t *testing.T) {
	for _, names := range []xapi.Names{xapi.NamesTweet, xapi.NamesPost} {
		r := newRig(t, xapitest.Config{}, func(cfg *xapi.Config) { cfg.Names = names })
		id := r.AddAccount("ann")
		r.Repost("ann", r.Post("ann", "hello"))
		p := r.read(fetcher.TimelineQuery{Username: "ann", UserID: id})
		for _, name := range []string{"expansions", "user.fields", "media.fields", "poll.fields", "place.fields"} {
			if v := r.last(name); v != "" {
				t.Errorf("by the names %s, %s is %q", names, name, v)
			}
		}
		if p.Billed != (fetcher.Billed{Posts: 2}) || r.Billed() != p.Billed {
			t.Errorf("billed %+v, by the server %+v: want two posts", p.Billed, r.Billed())
		}
		if tw := p.Tweets[1]; tw.UserID != id || tw.Username != "ann" || tw.Permalink != "" {
			t.Errorf("the author is %q, %q, the address %q: want the account that was read, from which the address follows", tw.UserID, tw.Username, tw.Permalink)
		}
	}
}
