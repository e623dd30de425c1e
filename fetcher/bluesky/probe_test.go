package bluesky

import (
	"errors"
	"net/url"
	"slices"
	"testing"

	"github.com/streamwatch/streamwatch/fetcher"
)

const profilesMethod = "app.bsky.actor.getProfiles"

func TestProbe(t *testing.T) {
	var asked []string
	p := serve(t, answers{profilesMethod: func(q url.Values) (int, string) {
		asked = q["actors"]
		return 200, `{"profiles":[
			{"did":"` + bob + `","handle":"bob.example.com","postsCount":12},
			{"did":"` + alice + `","handle":"alice.example.com","postsCount":0},
			{"did":"did:plc:none","handle":"none.example.com"},
			{"did":"did:plc:text","handle":"text.example.com","postsCount":"7"},
			{"did":"did:plc:less","handle":"less.example.com","postsCount":-1}]}`
	}})
	accounts := []fetcher.Account{
		{Username: "alice.example.com", UserID: alice},
		{Username: "BOB.example.com"},
		{Username: "gone.example.com"},
		{Username: "none.example.com"}, {Username: "text.example.com"}, {Username: "less.example.com"},
		{Username: "no handle"}, {Username: "did:plc:"}, {Username: ""},
		{Username: "alice.example.com", UserID: alice},
	}
	got, err := p.open(t, false).Probe(t.Context(), accounts)
	if err != nil {
		t.Fatal(err)
	}
	if want := []fetcher.Mark{1, 13, 0, 0, 0, 0, 0, 0, 0, 1}; !slices.Equal(got.Marks, want) {
		t.Errorf("marks %v, want %v", got.Marks, want)
	}
	want := []string{alice, "bob.example.com", "gone.example.com", "none.example.com", "text.example.com", "less.example.com", alice}
	if !slices.Equal(asked, want) {
		t.Errorf("asked for %q, want %q", asked, want)
	}
	if !got.RateLimit.Known || !got.ServerTime.Equal(now) {
		t.Errorf("rate limit %+v, server time %s", got.RateLimit, got.ServerTime)
	}
}

func TestProbeOfNobodyAsksNothing(t *testing.T) {
	p := serve(t, answers{})
	got, err := p.open(t, false).Probe(t.Context(), []fetcher.Account{{Username: "nobody"}})
	if calls := p.taken(); err != nil || len(calls) != 0 || !slices.Equal(got.Marks, []fetcher.Mark{fetcher.NoMark}) {
		t.Errorf("marks %v, %v, calls %q", got.Marks, err, calls)
	}
}

func TestProbeErrors(t *testing.T) {
	one := []fetcher.Account{{Username: alice}}
	for _, c := range []struct {
		name   string
		answer func(url.Values) (int, string)
		want   error
	}{
		{"HTML", body("<html>"), fetcher.ErrMalformed},
		{"no list", body(`{}`), fetcher.ErrMalformed},
		{"null", body(`{"profiles":null}`), fetcher.ErrMalformed},
		{"wants a login", failure(401, "AuthMissing", ""), fetcher.ErrUnauthorized},
		{"is no AppView", failure(501, "MethodNotImplemented", "Method Not Implemented"), fetcher.ErrUnsupported},
		{"has no such path", failure(404, "NotFound", ""), fetcher.ErrUnsupported},
		{"is a PDS without an AppView", failure(400, "InvalidRequest", "No service configured for "+profilesMethod), fetcher.ErrUnsupported},
	} {
		p := serve(t, answers{profilesMethod: c.answer})
		if _, err := p.open(t, false).Probe(t.Context(), one); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
	for name, answer := range map[string]func(url.Values) (int, string){
		"is down":       failure(502, "UpstreamFailure", ""),
		"did not parse": failure(400, "InvalidRequest", "actors must be a valid did or a handle"),
	} {
		p := serve(t, answers{profilesMethod: answer})
		if _, err := p.open(t, false).Probe(t.Context(), one); err == nil || errors.Is(err, fetcher.ErrUnsupported) {
			t.Errorf("%s: %v, want an error after which it is asked again", name, err)
		}
	}
	p := serve(t, answers{})
	if _, err := p.open(t, true).Probe(t.Context(), one); !errors.Is(err, fetcher.ErrUnsupported) || len(p.taken()) != 0 {
		t.Errorf("a PDS: %v, want %v without a call", err, fetcher.ErrUnsupported)
	}
	f := p.open(t, false)
	if _, err := f.Probe(t.Context(), make([]fetcher.Account, f.ProbeLimit()+1)); err == nil || len(p.taken()) != 0 {
		t.Errorf("26 accounts: %v", err)
	}
}
