package storetest

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// brokenErase is a store with another Erase, and with files when it has some.
type brokenErase struct {
	*memory.Store
	erase func(ctx context.Context, s *memory.Store, owner string, targets []string) (storage.Erased, error)
	files []byte
}

func (b brokenErase) Erase(ctx context.Context, owner string, targets ...string) (storage.Erased, error) {
	return b.erase(ctx, b.Store, owner, targets)
}

// restores erases, and then puts something back.
func restores(put func(ctx context.Context, s *memory.Store) error) func(context.Context, *memory.Store, string, []string) (storage.Erased, error) {
	return func(ctx context.Context, s *memory.Store, owner string, targets []string) (storage.Erased, error) {
		e, err := s.Erase(ctx, owner, targets...)
		if err == nil {
			err = put(ctx, s)
		}
		return e, err
	}
}

func TestPlantedEraseFaults(t *testing.T) {
	sound := restores(func(context.Context, *memory.Store) error { return nil })
	for _, row := range []struct {
		name  string
		erase func(context.Context, *memory.Store, string, []string) (storage.Erased, error)
		files []byte
		find  string
		says  string
	}{
		{"keeps the balance", restores(func(ctx context.Context, s *memory.Store) error {
			return s.Ledger().Append(ctx, billing.Entry{ID: "left", Owner: "acme", Amount: 9})
		}), nil, "erase/of an erased owner nothing is shown", "shows something of the owner"},
		{"keeps an endpoint", restores(func(ctx context.Context, s *memory.Store) error {
			return s.Endpoints().Create(ctx, deliver.Endpoint{ID: "kept", Source: storeSource("acme", "src"), URL: "https://example.com/", Status: deliver.EndpointActive})
		}), nil, "erase/who comes after begins anew, with other numbers", "endpoints of an erased owner"},
		{"erases all owners", func(ctx context.Context, s *memory.Store, owner string, targets []string) (storage.Erased, error) {
			if _, err := s.Erase(ctx, "globex"); err != nil {
				return storage.Erased{}, err
			}
			return s.Erase(ctx, owner, targets...)
		}, nil, "erase/other owners keep everything", "Erase changed what another owner has"},
		{"leaves the cursors", func(ctx context.Context, s *memory.Store, owner string, _ []string) (storage.Erased, error) {
			return s.Erase(ctx, owner)
		}, nil, "erase/Erase counts what it removed", "count what it removed"},
		{"takes an owner for a pattern", func(ctx context.Context, s *memory.Store, owner string, targets []string) (storage.Erased, error) {
			return s.Erase(ctx, strings.TrimRight(owner, " "), targets...)
		}, nil, "erase/an owner is a whole name and no pattern", "for acme"},
		{"leaves bytes in its files", sound, []byte("acme, Space agencies, rockets, example.com/kept, whsec_of_the_conformance_suite, post of an erased owner, erased-account, globex"),
			"erase/after Scrub the files have nothing of the owner", "of an erased owner"},
		{"shows other files than its own", sound, []byte("nothing"), "erase/after Scrub the files have nothing of the owner", "Kit.Files has to give"},
	} {
		t.Run(row.name, func(t *testing.T) {
			on := func(erase func(context.Context, *memory.Store, string, []string) (storage.Erased, error)) []string {
				kit := Kit{Open: func(testing.TB) storage.Store { return brokenErase{memory.New(memory.Options{}), erase, row.files} }}
				if row.files != nil {
					kit.Files = func(_ testing.TB, s storage.Store) []byte { return s.(brokenErase).files }
				}
				return record(t, kit, row.find)
			}
			if row.files == nil {
				if said := on(sound); len(said) > 0 {
					t.Errorf("%s reports %q of a sound store", row.find, said)
				}
			}
			if said := on(row.erase); !slices.ContainsFunc(said, func(s string) bool { return strings.Contains(s, row.says) }) {
				t.Errorf("%s reports %q, want a sentence with %q", row.find, said, row.says)
			}
		})
	}
}
