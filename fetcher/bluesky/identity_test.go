package bluesky

import (
	"errors"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/streamwatch/streamwatch/fetcher"
)

func methods(calls []string) []string {
	var names []string
	for _, c := range calls {
		name, _, _ := strings.Cut(c, "?")
		names = append(names, name[strings.LastIndexByte(name, '.')+1:])
	}
	return names
}

func TestWhoIsAsked(t *testing.T) {
	for _, c := range []struct {
		name  string
		query fetcher.TimelineQuery
		calls []string
		actor string
	}{
		{"a handle is looked up", fetcher.TimelineQuery{Username: "alice.example.com"}, []string{"resolveHandle", "getAuthorFeed"}, alice},
		{"a known id spares the look-up", fetcher.TimelineQuery{Username: "old-name.example.com", UserID: alice}, []string{"getAuthorFeed"}, alice},
		{"a DID in place of a handle", fetcher.TimelineQuery{Username: bob}, []string{"getAuthorFeed"}, bob},
		{"an id that is no DID is not used", fetcher.TimelineQuery{Username: "alice.example.com", UserID: "42"}, []string{"resolveHandle", "getAuthorFeed"}, alice},
		{"an id alone", fetcher.TimelineQuery{UserID: alice}, []string{"getAuthorFeed"}, alice},
	} {
		t.Run(c.name, func(t *testing.T) {
			actor := ""
			p := serve(t, answers{
				"com.atproto.identity.resolveHandle": body(doc(`{"did":"ALICE"}`)),
				"app.bsky.feed.getAuthorFeed": func(q url.Values) (int, string) {
					actor = q.Get("actor")
					return 200, feed()
				},
			})
			page, err := p.open(t, false).Timeline(t.Context(), c.query)
			if err != nil {
				t.Fatal(err)
			}
			if got := methods(p.taken()); !slices.Equal(got, c.calls) {
				t.Errorf("calls %v, want %v", got, c.calls)
			}
			if actor != c.actor || page.UserID != c.actor {
				t.Errorf("asked for %q, page is of %q, want %q", actor, page.UserID, c.actor)
			}
		})
	}
}

func TestHandleIsLookedUpOnce(t *testing.T) {
	p := serve(t, answers{
		"com.atproto.identity.resolveHandle": body(doc(`{"did":"ALICE"}`)),
		"app.bsky.feed.getAuthorFeed":        body(feed()),
	})
	f := p.open(t, false)
	for _, name := range []string{"alice.example.com", "Alice.Example.com"} {
		if _, err := f.Timeline(t.Context(), fetcher.TimelineQuery{Username: name}); err != nil {
			t.Fatal(err)
		}
	}
	calls := p.taken()
	if got := methods(calls); !slices.Equal(got, []string{"resolveHandle", "getAuthorFeed", "getAuthorFeed"}) {
		t.Errorf("calls %v", got)
	}
	if want := "com.atproto.identity.resolveHandle?handle=alice.example.com"; calls[0] != want {
		t.Errorf("look-up %q, want %q", calls[0], want)
	}
}

func TestHandleLookUpErrors(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer func(url.Values) (int, string)
		want   error
	}{
		{"nobody has it", failure(400, "InvalidRequest", "Unable to resolve handle"), fetcher.ErrNotFound},
		{"nobody has it, newer name", failure(400, "HandleNotFound", "no such handle"), fetcher.ErrNotFound},
		{"not a handle", failure(400, "InvalidRequest", "Error: handle must be a valid handle"), fetcher.ErrNotFound},
		{"not a handle, in other words", failure(400, "InvalidRequest", "what is this"), fetcher.ErrNotFound},
		{"no JSON", body(`<html>`), fetcher.ErrMalformed},
		{"no DID", body(`{"did":"alice"}`), fetcher.ErrMalformed},
		{"null", body(`null`), fetcher.ErrMalformed},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := serve(t, answers{"com.atproto.identity.resolveHandle": c.answer})
			_, err := p.open(t, true).Timeline(t.Context(), fetcher.TimelineQuery{Username: "alice.example.com"})
			if !errors.Is(err, c.want) {
				t.Errorf("error %v, want %v", err, c.want)
			}
		})
	}
	p := serve(t, answers{"com.atproto.identity.resolveHandle": failure(502, "UpstreamFailure", "try later")})
	_, err := p.open(t, true).Timeline(t.Context(), fetcher.TimelineQuery{Username: "alice.example.com"})
	var status *fetcher.StatusError
	if !errors.As(err, &status) || status.Code != 502 {
		t.Errorf("error %v, want a StatusError 502", err)
	}
	if _, err := p.open(t, true).Timeline(t.Context(), fetcher.TimelineQuery{}); err == nil {
		t.Error("no name and no id: want an error")
	}
}
