package xapi_test

import (
	"testing"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/xapi"
	"github.com/streamwatch/streamwatch/fetcher/xapi/xapitest"
)

// With Expand posts have their authors and what they refer to, and these are billed.
func TestExpand(t *testing.T) {
	r := newRig(t, xapitest.Config{}, func(cfg *xapi.Config) {
		cfg.Expand = xapi.Expand{Authors: true, Posts: true, Media: true, Polls: true, Places: true}
	})
	id := r.AddAccount("ann")
	r.Repost("ann", r.Publish("ann", xapitest.Post{Text: "hello", Long: "hello, world", Photo: "https://pbs.example/1.jpg"}))
	p := r.read(fetcher.TimelineQuery{Username: "ann", UserID: id})
	repost, post := p.Tweets[0], p.Tweets[1]
	if !repost.IsRetweet || repost.FullText != "RT @ann: hello, world" || post.FullText != "hello, world" || len(post.Media) != 1 || post.Username != "ann" || post.User == nil || post.UserID != id {
		t.Errorf("posts are %+v and %+v: want all of them", repost, post)
	}
	if p.Billed != r.Billed() || p.Billed.Posts != 2 || p.Billed.Users != 1 {
		t.Errorf("billed %+v, by the server %+v: want two posts and an author", p.Billed, r.Billed())
	}
}

// Without Expand nothing is asked for that may be billed beside the posts.
func TestNothingIsExpandedUnasked(t *testing.T) {
	r := newRig(t, xapitest.Config{}, nil)
	id := r.AddAccount("ann")
	r.Repost("ann", r.Post("ann", "hello"))
	p := r.read(fetcher.TimelineQuery{Username: "ann", UserID: id})
	for _, name := range []string{"expansions", "user.fields", "media.fields", "poll.fields", "place.fields"} {
		if v := r.last(name); v != "" {
			t.Errorf("%s is %q", name, v)
		}
	}
	if p.Billed != (fetcher.Billed{Posts: 2}) || r.Billed() != p.Billed {
		t.Errorf("billed %+v, by the server %+v: want two posts", p.Billed, r.Billed())
	}
	if tw := p.Tweets[1]; tw.UserID != id || tw.Username != "ann" || tw.Permalink != "" {
		t.Errorf("the author is %q, %q, the address %q: want the account that was read, from which the address follows", tw.UserID, tw.Username, tw.Permalink)
	}
}
