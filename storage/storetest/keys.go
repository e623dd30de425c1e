package storetest

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/apikey"
	"github.com/streamwatch/streamwatch/storage"
)

// keyTest is a store with the API keys a, b and c of acme, and the key theirs of globex.
type keyTest struct {
	*storeTest
	keys apikey.Store
}

// keyCases test the API keys of a storage.Keyed.
func keyCases() []storeCase {
	cases := append(keyErrorCases(), keyLifeCases()...)
	return append(cases,
		onKeys("a key comes back as it was created", func(t keyTest) {
			k := fullKey(t.storeTest)
			t.ok(t.keys.Create(t.Context(), k), "Keys.Create")
			t.same(t.get("acme", k.ID), k, "Get gave another key than Create was given")
			t.same(t.find(k.Lookup()), k, "Find gave another key than Create was given")
			list, err := t.keys.List(t.Context(), "acme")
			t.ok(err, "Keys.List")
			t.same(list[len(list)-1], k, "List gave another key than Create was given")
		}),
		onKeys("Update replaces all but Hash and counts the version", func(t keyTest) {
			k := t.get("acme", "b")
			hash := k.Hash
			changed := fullKey(t.storeTest)
			changed.ID, changed.Version = "b", k.Version
			t.ok(t.keys.Update(t.Context(), changed), "Keys.Update")
			changed.Hash, changed.Version = hash, k.Version+1
			t.same(t.get("acme", "b"), changed, "Update has to replace all but Hash, and to store Version+1")
			t.same(t.find(changed.Lookup()), changed, "Find has to give what Update stored")
			_, err := t.keys.Find(t.Context(), fullKey(t.storeTest).Lookup())
			t.refused(err, apikey.ErrNotFound, "Update gave a key another Hash")
		}),
		onKeys("Update of a version that is not stored is a conflict and changes nothing", func(t keyTest) {
			k := t.get("acme", "a")
			for _, off := range []int64{-1, 1} {
				stale := k
				stale.Version, stale.RevokedAt = k.Version+off, t.start
				t.refused(t.keys.Update(t.Context(), stale), apikey.ErrConflict, "Update took a Version that is not stored")
			}
			t.same(t.get("acme", "a"), k, "a refused Update changed the key")
		}),
		onKeys("List shows an owner's keys in the order of creation", func(t keyTest) {
			k := t.get("acme", "a")
			t.ok(t.keys.Update(t.Context(), k), "Keys.Update")
			expect(t.storeTest, t.ids("acme"), "a b c", "List has to keep the order of the Create calls, whatever was updated")
			expect(t.storeTest, t.ids("globex"), "theirs", "List has to show another owner's keys only to that owner")
			expect(t.storeTest, t.ids("initech"), "", "List showed keys to an owner that has none")
		}),
		onKeys("a deleted key is gone, its id and Lookup are free", func(t keyTest) {
			k := t.get("acme", "b")
			t.ok(t.keys.Delete(t.Context(), "acme", "b"), "Keys.Delete")
			_, err := t.keys.Find(t.Context(), k.Lookup())
			t.refused(err, apikey.ErrNotFound, "Find found a key that was deleted")
			expect(t.storeTest, t.ids("acme"), "a c", "List shows a key that was deleted")
			k.Owner = "globex"
			t.ok(t.keys.Create(t.Context(), k), "Keys.Create with the id and the Lookup of a deleted key")
			expect(t.storeTest, t.find(k.Lookup()).Owner, "globex", "Find gave the key from before")
		}),
		onKeys("Find takes its argument for text and no pattern", func(t keyTest) {
			lookup := t.get("acme", "a").Lookup()
			for _, other := range []string{"", "%", "*", lookup[:15], lookup + "0", strings.ToUpper(lookup), "acme\x00\x00" + lookup, "a"} {
				_, err := t.keys.Find(t.Context(), other)
				t.refused(err, apikey.ErrNotFound, "Find took %q for a Lookup, which is %q", other, lookup)
			}
		}),
		onKeys("text survives, and owners do not run into each other", func(t keyTest) {
			for i, text := range []string{"żółw 🚀", "a\x00b\r\n", `'; DROP TABLE api_keys; --`, " \t ", "{tag} %s", "acme:b", "acme\x00"} {
				k := fullKey(t.storeTest)
				k.ID, k.Owner, k.Name, k.Prefix, k.Tier = text, text, text, text, text
				k.Hash = keyHash(100 + i)
				t.ok(t.keys.Create(t.Context(), k), "Keys.Create")
				t.same(t.get(text, text), k, "a key's text did not survive")
				expect(t.storeTest, t.ids(text), text, "List has to show the one key of this owner")
			}
			expect(t.storeTest, t.ids("acme"), "a b c", "List shows keys of an owner whose name begins in the same way")
		}),
		onKeys("of concurrent creations with one Lookup one succeeds", func(t keyTest) {
			oneOf(t.storeTest, apikey.ErrDuplicate, "Keys.Create with one Lookup", func(i int) error {
				return t.keys.Create(t.Context(), apikey.Key{ID: fmt.Sprint("racer ", i), Owner: fmt.Sprint("owner ", i), Hash: keyHash(99)})
			})
		}),
		onKeys("of concurrent updates of one version one succeeds", func(t keyTest) {
			k := t.get("acme", "a")
			oneOf(t.storeTest, apikey.ErrConflict, "Keys.Update of one Version", func(int) error { return t.keys.Update(t.Context(), k) })
		}),
	)
}

// onKeys returns a case for a storage.Keyed. Other stores skip it.
func onKeys(name string, run func(keyTest)) storeCase {
	return storeCase{name: name, run: func(t *storeTest) {
		s, ok := t.store.(storage.Keyed)
		if !ok {
			t.Skip("the store is no storage.Keyed")
		}
		kt := keyTest{t, s.Keys()}
		for i, id := range []string{"a", "b", "theirs", "c"} {
			k := apikey.Key{ID: id, Owner: "acme", Name: "one name for all", Hash: keyHash(i), CreatedAt: t.start, Version: 3}
			if id == "theirs" {
				k.Owner = "globex"
			}
			t.ok(kt.keys.Create(t.Context(), k), "Keys.Create")
		}
		run(kt)
	}}
}

// keyHash returns a text in the form of a key's hash. Its Lookup is different for each n.
func keyHash(n int) string { return fmt.Sprintf("%08xabcdef01", n) + strings.Repeat("5e", 24) }

// fullKey returns a key with a value in every field.
func fullKey(t *storeTest) apikey.Key {
	return apikey.Key{
		ID: "full", Owner: "acme", Name: "production", Prefix: "sw_live_Ab3x", Hash: keyHash(50),
		Tier: "gold", RatePerMinute: 600, Scope: apikey.ScopeAdmin, CreatedAt: t.start.Add(time.Microsecond), ExpiresAt: t.at(3600), RevokedAt: t.at(60), Version: 41,
	}
}

func (t keyTest) get(owner, id string) apikey.Key {
	t.Helper()
	k, err := t.keys.Get(t.Context(), owner, id)
	t.ok(err, "Keys.Get of "+owner+"'s "+id)
	return k
}

func (t keyTest) find(lookup string) apikey.Key {
	t.Helper()
	k, err := t.keys.Find(t.Context(), lookup)
	t.ok(err, "Keys.Find")
	return k
}

func (t keyTest) ids(owner string) string {
	t.Helper()
	list, err := t.keys.List(t.Context(), owner)
	t.ok(err, "Keys.List")
	return joined(list, func(k apikey.Key) string { return k.ID })
}

// keyErrorCases test calls that the role refuses.
func keyErrorCases() []storeCase {
	var cases []storeCase
	for _, row := range []struct {
		name string
		call func(ctx context.Context, ks apikey.Store) error
		want error
	}{
		{"Create refuses an id in use", func(ctx context.Context, ks apikey.Store) error {
			return ks.Create(ctx, apikey.Key{ID: "a", Owner: "acme", Hash: keyHash(70)})
		}, apikey.ErrDuplicate},
		{"Create refuses an id that another owner uses", func(ctx context.Context, ks apikey.Store) error {
			return ks.Create(ctx, apikey.Key{ID: "theirs", Owner: "acme", Hash: keyHash(70)})
		}, apikey.ErrDuplicate},
		{"Create refuses a Lookup in use, whatever the rest of the hash", func(ctx context.Context, ks apikey.Store) error {
			return ks.Create(ctx, apikey.Key{ID: "new", Owner: "acme", Hash: keyHash(0)[:16] + strings.Repeat("0", 48)})
		}, apikey.ErrDuplicate},
		{"Create refuses a Lookup that another owner's key has", func(ctx context.Context, ks apikey.Store) error {
			return ks.Create(ctx, apikey.Key{ID: "new", Owner: "acme", Hash: keyHash(2)})
		}, apikey.ErrDuplicate},
		{"Create allows a name in use", func(ctx context.Context, ks apikey.Store) error {
			return ks.Create(ctx, apikey.Key{ID: "new", Owner: "acme", Name: "one name for all", Hash: keyHash(70)})
		}, nil},
		{"Get does not find an unknown id", func(ctx context.Context, ks apikey.Store) error {
			_, err := ks.Get(ctx, "acme", "x")
			return err
		}, apikey.ErrNotFound},
		{"Get does not find another owner's id", func(ctx context.Context, ks apikey.Store) error {
			_, err := ks.Get(ctx, "acme", "theirs")
			return err
		}, apikey.ErrNotFound},
		{"Find does not find an unknown Lookup", func(ctx context.Context, ks apikey.Store) error {
			_, err := ks.Find(ctx, keyHash(70)[:16])
			return err
		}, apikey.ErrNotFound},
		{"Update does not find another owner's id", func(ctx context.Context, ks apikey.Store) error {
			return ks.Update(ctx, apikey.Key{ID: "theirs", Owner: "acme", Hash: keyHash(2), Version: 3})
		}, apikey.ErrNotFound},
		{"Update does not find an unknown id", func(ctx context.Context, ks apikey.Store) error {
			return ks.Update(ctx, apikey.Key{ID: "x", Owner: "acme", Hash: keyHash(70)})
		}, apikey.ErrNotFound},
		{"Delete does not find another owner's id", func(ctx context.Context, ks apikey.Store) error {
			return ks.Delete(ctx, "acme", "theirs")
		}, apikey.ErrNotFound},
		{"Delete does not find an unknown id", func(ctx context.Context, ks apikey.Store) error {
			return ks.Delete(ctx, "acme", "x")
		}, apikey.ErrNotFound},
	} {
		cases = append(cases, onKeys(row.name, func(t keyTest) {
			mine, theirs := t.get("acme", "a"), t.get("globex", "theirs")
			t.refused(row.call(t.Context(), t.keys), row.want, "%s", row.name)
			t.same(t.get("acme", "a"), mine, "a call that was refused changed the owner's key")
			t.same(t.get("globex", "theirs"), theirs, "a call for acme changed globex's key")
			t.same(t.find(mine.Lookup()), mine, "a call that was refused changed whom a Lookup finds")
		}))
	}
	return cases
}

// keyLifeCases test contexts, Close, restarts, and stores that share data.
func keyLifeCases() []storeCase {
	calls := map[string]func(ctx context.Context, ks apikey.Store, k apikey.Key) error{
		"Create": func(ctx context.Context, ks apikey.Store, _ apikey.Key) error {
			return ks.Create(ctx, apikey.Key{ID: "new", Owner: "acme", Hash: keyHash(70)})
		},
		"Get": func(ctx context.Context, ks apikey.Store, k apikey.Key) error {
			_, err := ks.Get(ctx, k.Owner, k.ID)
			return err
		},
		"Find": func(ctx context.Context, ks apikey.Store, k apikey.Key) error {
			_, err := ks.Find(ctx, k.Lookup())
			return err
		},
		"List": func(ctx context.Context, ks apikey.Store, k apikey.Key) error {
			_, err := ks.List(ctx, k.Owner)
			return err
		},
		"Update": func(ctx context.Context, ks apikey.Store, k apikey.Key) error {
			k.RevokedAt = k.CreatedAt
			return ks.Update(ctx, k)
		},
		"Delete": func(ctx context.Context, ks apikey.Store, k apikey.Key) error { return ks.Delete(ctx, k.Owner, k.ID) },
	}
	durable := onKeys("keys are there after a restart", func(t keyTest) {
		k := t.get("acme", "a")
		k.RevokedAt = t.at(1)
		t.ok(t.keys.Update(t.Context(), k), "Keys.Update")
		t.ok(t.keys.Delete(t.Context(), "acme", "c"), "Keys.Delete")
		k.Version++
		t.reopen()
		t.keys = t.store.(storage.Keyed).Keys()
		t.same(t.find(k.Lookup()), k, "a revocation that was acknowledged is not there after a restart")
		expect(t.storeTest, t.ids("acme"), "a b", "the keys after a restart are not those from before, in their order")
	})
	durable.needs = needsDurable
	shared := onKeys("what one store revokes the others see", func(t keyTest) {
		other := t.kit.Join(t.TB, t.store)
		defer other.Close(context.Background())
		k := t.get("acme", "a")
		k.RevokedAt = t.at(1)
		t.ok(t.keys.Update(t.Context(), k), "Keys.Update")
		k.Version++
		got, err := other.(storage.Keyed).Keys().Find(t.Context(), k.Lookup())
		t.ok(err, "Keys.Find")
		t.same(got, k, "a revocation that was acknowledged is not seen by another store on the same data")
	})
	shared.needs = needsShared
	return []storeCase{durable, shared,
		onKeys("a context that has ended changes nothing", func(t keyTest) {
			ended, cancel := context.WithCancel(t.Context())
			cancel()
			k := t.get("acme", "a")
			for name, call := range calls {
				t.refused(call(ended, t.keys, k), context.Canceled, "Keys.%s has to give the error of a context that has ended", name)
			}
			t.same(t.get("acme", "a"), k, "a call whose context had ended changed the key")
			expect(t.storeTest, t.ids("acme"), "a b c", "a call whose context had ended made or removed a key")
		}),
		onKeys("a closed store refuses every call", func(t keyTest) {
			k := t.get("acme", "a")
			ctx := t.Context()
			t.close()
			for name, call := range calls {
				t.refused(call(ctx, t.keys, k), errAny, "Keys.%s succeeded after Close", name)
			}
		}),
	}
}
