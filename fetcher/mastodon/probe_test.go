package mastodon

import (
	"errors"
	"net/http"
	"slices"
	"testing"

	"github.com/streamwatch/streamwatch/fetcher"
)

const accountsPath = "/api/v1/accounts"

func TestProbe(t *testing.T) {
	s := newServer(t, map[string]http.HandlerFunc{
		lookupPath: text(ann), statusesPath: text("[]"),
		accountsPath: text(`[{"id":"7","statuses_count":3},{"id":42,"statuses_count":0},{"id":"8"},{"id":"9","statuses_count":"x"},{"statuses_count":5},null]`),
	})
	f := s.fetcher(t, nil)
	if _, err := f.Timeline(t.Context(), fetcher.TimelineQuery{Username: "ann"}); err != nil {
		t.Fatal(err)
	}
	got, err := f.Probe(t.Context(), []fetcher.Account{{Username: "Ann"}, {Username: "new"}, {UserID: "7"}, {UserID: "8"}, {UserID: "9"}, {UserID: "10"}})
	if want := []fetcher.Mark{1, 0, 4, 0, 0, 0}; err != nil || !slices.Equal(got.Marks, want) {
		t.Errorf("marks %v, %v, want %v", got.Marks, err, want)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if last := s.requests[len(s.requests)-1]; last != accountsPath+"?id%5B%5D=42&id%5B%5D=7&id%5B%5D=8&id%5B%5D=9&id%5B%5D=10" {
		t.Errorf("request %s", last)
	}
}

func TestProbeErrors(t *testing.T) {
	one := []fetcher.Account{{UserID: "7"}}
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		want   error
	}{
		"not offered":  {nil, fetcher.ErrUnsupported},
		"not a method": {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "", http.StatusMethodNotAllowed) }, fetcher.ErrUnsupported},
		"an object":    {text(`{}`), fetcher.ErrMalformed},
		"HTML":         {text(`<html>`), fetcher.ErrMalformed},
		"a login":      {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "", http.StatusUnauthorized) }, fetcher.ErrUnauthorized},
	} {
		s := newServer(t, map[string]http.HandlerFunc{accountsPath: c.answer})
		if _, err := s.fetcher(t, nil).Probe(t.Context(), one); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	s := newServer(t, nil)
	f := s.fetcher(t, nil)
	if _, err := f.Probe(t.Context(), make([]fetcher.Account, f.ProbeLimit()+1)); err == nil {
		t.Error("41 accounts were accepted")
	}
	if p, err := f.Probe(t.Context(), []fetcher.Account{{Username: "who"}}); err != nil || !slices.Equal(p.Marks, []fetcher.Mark{fetcher.NoMark}) || len(s.requests) != 0 {
		t.Errorf("unknown ids: %v, %v, %d requests", p.Marks, err, len(s.requests))
	}
}
