package parts

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/detect/internal/accounts"
	"github.com/streamwatch/streamwatch/detect/internal/poll"
	"github.com/streamwatch/streamwatch/detect/internal/queries"
	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/internal/pace"
)

// wants adds the terms of a source to what is wanted of an account.
func wants(w *Wants, t Terms) {
	w.Sources++
	for _, least := range []*time.Duration{&w.Shortest, &w.ByMonitor} {
		if (least == &w.Shortest || !t.Rule) && (*least == 0 || t.Interval > 0 && t.Interval < *least) {
			*least = t.Interval
		}
	}
}

// Whatever is set, added and removed, Elsewhere answers as a list does that is searched
// from end to end.
func TestElsewhereIsWhatWasSet(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var x Elsewhere
		type had struct {
			Terms
			hashes []uint64
		}
		model := map[string]had{}
		hash := func() uint64 {
			n := rng.IntN(60)
			if n == 0 {
				return 0
			}
			return accounts.HashName(string(rune('a' + n)))
		}
		for range 2000 {
			id := string(rune('A' + rng.IntN(12)))
			terms := Terms{Owner: []string{"ann", "bob"}[rng.IntN(2)], Rule: rng.IntN(3) == 0, Interval: time.Duration(rng.IntN(5)) * time.Second}
			var hashes []uint64
			for range rng.IntN(8) {
				hashes = append(hashes, hash())
			}
			slices.Sort(hashes)
			hashes = slices.Compact(hashes)
			if rng.IntN(4) == 0 && len(hashes) > 0 {
				x.Add(id, terms, slices.Clone(hashes))
				hashes = append(hashes, model[id].hashes...)
				slices.Sort(hashes)
				hashes = slices.Compact(hashes)
			} else {
				x.Set(id, terms, hashes, time.Time{})
			}
			model[id] = had{terms, hashes}
			var want, anns Wants
			ann := func(owner string) bool { return owner == "ann" }
			h := hash()
			for id, m := range model {
				has := slices.Contains(m.hashes, h)
				if has {
					wants(&want, m.Terms)
					if ann(m.Owner) {
						wants(&anns, m.Terms)
					}
				}
				if x.Has(id, h) != has {
					t.Fatalf("seed %d: %s has %d: %t, want %t", seed, id, h, !has, has)
				}
			}
			if got, of := x.Wants(h, nil), x.Wants(h, ann); got != want || of != anns {
				t.Fatalf("seed %d: account %d is wanted %+v, want %+v", seed, h, got, want)
			}
			all := map[uint64]bool{}
			for _, m := range model {
				for _, h := range m.hashes {
					all[h] = true
				}
			}
			if x.Len() != len(all) {
				t.Fatalf("seed %d: %d accounts, want %d", seed, x.Len(), len(all))
			}
		}
	}
}

// Many more accounts than that come and go, and their space with them.
func TestElsewhereShrinks(t *testing.T) {
	var x Elsewhere
	var hashes []uint64
	for i := range uint64(10_000) {
		hashes = append(hashes, fleet.Hash(string(rune(i))))
	}
	slices.Sort(hashes)
	hashes = slices.Compact(hashes)
	x.Set("m", Terms{Interval: time.Second}, hashes, time.Time{})
	x.Set("m2", Terms{Interval: time.Minute}, hashes[:5000], time.Time{})
	for i, h := range hashes {
		if w := x.Wants(h, nil); w.ByMonitor != time.Second || (w.Sources == 2) != (i < 5000) {
			t.Fatalf("account %d: %+v", i, w)
		}
	}
	x.Set("m", Terms{}, nil, time.Time{})
	x.Set("m2", Terms{Interval: time.Minute}, hashes[:10], time.Time{})
	if x.Len() != 10 || len(x.keys) > 2000 {
		t.Errorf("%d accounts in a table of %d", x.Len(), len(x.keys))
	}
}

// A source has joined when it came to want an account that it did not want before, as
// Set was told; not when another node took or gave the account.
func TestJoined(t *testing.T) {
	var x Elsewhere
	at := time.Unix(1000, 0)
	x.Set("m", Terms{}, []uint64{1, 2}, time.Time{})
	x.Add("m", Terms{}, []uint64{3})
	if got := x.Joined("m"); !got.IsZero() {
		t.Errorf("joined %s", got)
	}
	x.Set("m", Terms{}, []uint64{1, 2, 3, 4}, at)
	x.Set("m", Terms{}, []uint64{1, 2, 3}, at.Add(time.Hour))
	x.Add("m", Terms{}, []uint64{9})
	if got := x.Joined("m"); !got.Equal(at) {
		t.Errorf("joined %s, want %s", got, at)
	}
}

// The part of an account or query is that of its cursor's target, as the journal of all
// platforms has it; what a stream brings is of one part.
func TestShare(t *testing.T) {
	for _, platform := range []string{"", "bluesky"} {
		prefix := platform
		if platform != "" {
			prefix += "/"
		}
		var streamed [2]bool
		s := NewShare(platform, streamed)
		if !s.Alone() || !s.Account("nasa") || !s.Query("moon") || !s.Stream() || s.Parts() != fleet.Parts {
			t.Errorf("%q: not all is its own before Set", platform)
		}
		var own fleet.Set
		own.Add(fleet.PartOf(prefix + "account:nasa"))
		own.Add(fleet.PartOf(prefix + queries.Target("moon")))
		s.Set(own)
		if s.Alone() || !s.Account("@NASA") || !s.Query("moon") || s.Account("esa") || s.Query("sun") || s.Stream() || s.Parts() != 2 {
			t.Errorf("%q: what is its own is not what it has", platform)
		}
		streamed[poll.Accounts] = true
		s = NewShare(platform, streamed)
		s.Set(own)
		if s.Account("nasa") || !s.Query("moon") {
			t.Errorf("%q: an account is not of the stream's part", platform)
		}
		streamed[poll.Queries] = true
		if q := NewShare(platform, streamed); q.OfQuery("moon") != fleet.PartOf("stream/"+platform) {
			t.Errorf("%q: a query is not of the stream's part", platform)
		}
		s.Set(fleet.SetOf(fleet.PartOf("stream/" + platform)))
		if !s.Account("nasa") || !s.Account("esa") || s.Query("moon") || !s.Stream() {
			t.Errorf("%q: the stream's part has not all accounts", platform)
		}
	}
}

// A forecast has the accounts of other nodes at their intervals, and under a budget in proportion.
func TestGroups(t *testing.T) {
	var x Elsewhere
	x.Set("none", Terms{Interval: time.Second}, nil, time.Time{})
	own := []pace.Group{{Accounts: 3, Rate: 1, Interval: time.Second}, {Accounts: 1, Rate: 5, Interval: time.Hour}}
	if got := x.Groups(own, true, 0.5); !slices.Equal(got, own) {
		t.Errorf("without other nodes: %+v", got)
	}
	x.Set("m", Terms{Interval: time.Minute}, []uint64{1, 2, 3, 4}, time.Time{})
	for _, row := range []struct {
		name     string
		own      []pace.Group
		budgeted bool
		want     []pace.Group
	}{
		{"intervals", own, false, append(slices.Clip(own), pace.Group{Accounts: 4, Rate: 2, Interval: time.Minute})},
		{"a budget", own, true, []pace.Group{{Accounts: 6, Rate: 1, Interval: time.Second}, {Accounts: 2, Rate: 5, Interval: time.Hour}}},
		{"none of its own", nil, true, []pace.Group{{Accounts: 4, Rate: 0.5, Interval: time.Minute}}},
	} {
		if got := x.Groups(slices.Clone(row.own), row.budgeted, 0.5); !slices.Equal(got, row.want) {
			t.Errorf("%s: %+v, want %+v", row.name, got, row.want)
		}
	}
}
