package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/record"
)

func (t *storeTest) swap(n record.Name, version uint64, value string, ttl time.Duration) uint64 {
	t.Helper()
	v, err := t.store.Ports().State.Swap(t.Context(), n, version, []byte(value), ttl)
	t.ok(err, fmt.Sprintf("Swap of %.40q", n))
	return v
}

func (t *storeTest) noSwap(n record.Name, version uint64, rule string) {
	t.Helper()
	_, err := t.store.Ports().State.Swap(t.Context(), n, version, []byte("refused"), 0)
	t.refused(err, record.ErrConflict, "%s", rule)
}

// value returns what a name has, "none" if it has none.
func (t *storeTest) value(n record.Name) string {
	t.Helper()
	v, err := t.store.Ports().State.Get(t.Context(), n)
	if err != nil {
		t.refused(err, record.ErrNotFound, "Get of a value")
		return "none"
	}
	return fmt.Sprint(string(v.Data), " ", v.Version)
}

// stateCases are about State.
func stateCases() []storeCase {
	n := record.Name{Space: "s", Owner: "acme", ID: "x"}
	return []storeCase{
		{name: "Swap replaces the version that is stored, and no other", run: func(t *storeTest) {
			expect(t, t.value(n), "none", "Get of a name without a value returns ErrNotFound")
			t.noSwap(n, 1, "Swap of a version where there is none is a conflict")
			v1 := t.swap(n, 0, "a", 0)
			expect(t, t.value(n), fmt.Sprint("a ", v1), "Get has to return what Swap stored, with the version that it returned")
			t.noSwap(n, 0, "Swap of version 0 where there is a value is a conflict")
			t.noSwap(n, v1+1, "Swap of another version is a conflict")
			v2 := t.swap(n, v1, "b", 0)
			t.noSwap(n, v1, "Swap of an old version is a conflict")
			expect(t, t.value(n), fmt.Sprint("b ", v2), "Swap that returns ErrConflict changes nothing")
			_, err := t.store.Ports().State.Swap(t.Context(), n, v1, nil, 0)
			t.refused(err, record.ErrConflict, "removing another version is a conflict")
			_, err = t.store.Ports().State.Swap(t.Context(), n, v2, nil, 0)
			t.ok(err, "Swap to nil")
			expect(t, t.value(n), "none", "Swap to nil has to remove the value")
			t.noSwap(n, v2, "Swap of the version that was removed is a conflict")
			t.swap(n, 0, "c", 0)
		}},
		{name: "Swap refuses a negative ttl", run: func(t *storeTest) {
			_, err := t.store.Ports().State.Swap(t.Context(), n, 0, []byte("a"), -1)
			t.refused(err, record.ErrInvalid, "Swap with a ttl below 0 is not valid")
			expect(t, t.value(n), "none", "Swap that returns ErrInvalid changes nothing")
		}},
		{name: "no version comes twice, nor after a restart", needs: needsClock, run: func(t *storeTest) {
			seen := map[uint64]bool{0: true}
			swap := func(n record.Name, version uint64, ttl time.Duration) uint64 {
				t.Helper()
				v := t.swap(n, version, "x", ttl)
				expect(t, seen[v], false, "Swap returned version %d twice: versions come from one counter of the store", v)
				seen[v] = true
				return v
			}
			other := record.Name{Space: "s", Owner: "globex", ID: "x"}
			for round := range 3 {
				v := swap(n, swap(n, 0, time.Minute), time.Minute)
				w := swap(other, 0, 0)
				if round == 1 {
					_, err := t.store.Ports().State.Swap(t.Context(), n, v, nil, 0)
					t.ok(err, "Swap to nil")
				}
				_, err := t.store.Ports().State.Swap(t.Context(), other, w, []byte{}, 0)
				t.ok(err, "Swap to an empty value")
				t.kit.Clock.Advance(time.Minute)
				t.noSwap(n, v, "Swap of a version whose ttl is over is a conflict")
				if t.kit.Features.Durable {
					t.reopen()
				}
			}
		}},
		{name: "a value with a ttl ends by the store's clock", needs: needsClock, run: func(t *storeTest) {
			v := t.swap(n, 0, "a", time.Minute)
			t.kit.Clock.Advance(time.Minute - time.Microsecond)
			expect(t, t.value(n), fmt.Sprint("a ", v), "a value has to stay until its ttl is over")
			t.noSwap(n, 0, "Swap of version 0 before the ttl is over is a conflict")
			w := t.swap(n, v, "b", time.Minute)
			t.kit.Clock.Advance(time.Minute - time.Microsecond)
			expect(t, t.value(n), fmt.Sprint("b ", w), "Swap begins the ttl again")
			t.kit.Clock.Advance(time.Microsecond)
			expect(t, t.value(n), "none", "a value has to be gone when its ttl is over")
			t.noSwap(n, w, "the holder of a lease that is over may not overwrite its successor")
			x := t.swap(n, 0, "c", time.Minute)
			t.noSwap(n, w, "the holder of a lease that is over may not overwrite its successor")
			t.swap(n, x, "d", 0)
			t.kit.Clock.Advance(1000 * time.Hour)
			if got := t.value(n); got == "none" {
				t.Errorf("Swap with ttl 0 has to keep a value for ever, also one that had a ttl")
			}
		}},
		{name: "names and values are kept byte by byte", run: func(t *storeTest) {
			want := map[record.Name]string{}
			for _, text := range recordTexts {
				for _, name := range []record.Name{{Space: text}, {Owner: text}, {ID: text}, {Space: text, Owner: text, ID: text}, {Space: "a", Owner: "b" + text}, {Space: "a", Owner: "b", ID: text}} {
					value := fmt.Sprintf("%q", name) + "\x00\xff"
					want[name] = fmt.Sprint(value, " ", t.swap(name, 0, value, time.Hour))
				}
			}
			for name, value := range want {
				expect(t, t.value(name), value, "a value has to come back under its name, which is three texts")
			}
		}},
		{name: "no memory of a value is shared with callers", run: func(t *storeTest) {
			data := []byte("abc")
			v, err := t.store.Ports().State.Swap(t.Context(), n, 0, data, 0)
			t.ok(err, "Swap")
			data[0] = 'X'
			got, err := t.store.Ports().State.Get(t.Context(), n)
			t.ok(err, "Get")
			got.Data[1] = 'Y'
			expect(t, t.value(n), fmt.Sprint("abc ", v), "the store shares no memory with values passed in or out")
		}},
		{name: "of concurrent Swaps one succeeds", run: onTwo(func(one, two *storeTest) {
			version := uint64(0)
			for range 10 {
				oneOf(one, record.ErrConflict, "Swap of one version", func(i int) error {
					_, err := []*storeTest{one, two}[i%2].store.Ports().State.Swap(one.Context(), n, version, fmt.Append(nil, i), 0)
					return err
				})
				got, err := two.store.Ports().State.Get(two.Context(), n)
				two.ok(err, "Get")
				version = got.Version
			}
		})},
		{name: "values survive a restart", needs: needsDurable, run: func(t *storeTest) {
			passing := record.Name{Space: "s", ID: "passing"}
			v, w := t.swap(n, 0, "a", 0), t.swap(passing, 0, "b", time.Hour)
			t.reopen()
			expect(t, t.value(n), fmt.Sprint("a ", v), "a value has to be there after a restart")
			expect(t, t.value(passing), fmt.Sprint("b ", w), "a value with a ttl has to be there after a restart")
		}},
	}
}

// stateBoundCases are about the bounds of values with a ttl.
func stateBoundCases() []storeCase {
	own := record.Name{Space: "own"}
	name := func(owner string, i int) record.Name {
		return record.Name{Space: "s", Owner: owner, ID: fmt.Sprint(i)}
	}
	// fill stores values of an owner, 16 at a time, the given one before all others.
	fill := func(t *storeTest, owner string, n int) {
		t.swap(name(owner, 0), 0, "x", time.Hour)
		together(16, func(w int) {
			for i := 1 + w; i < n; i += 16 {
				if _, err := t.store.Ports().State.Swap(t.Context(), name(owner, i), 0, []byte("x"), time.Hour); err != nil {
					t.Errorf("Swap beside others failed: %v", err)
				}
			}
		})
	}
	count := func(t *storeTest, owner string, n int) (have int) {
		t.Helper()
		for i := range n {
			if t.value(name(owner, i)) != "none" {
				have++
			}
		}
		return have
	}
	return []storeCase{
		{name: "beyond 1,000 values of an owner its oldest goes", run: func(t *storeTest) {
			t.swap(name("globex", 0), 0, "x", time.Hour)
			t.swap(record.Name{Space: "own", Owner: "acme"}, 0, "x", 0)
			fill(t, "acme", record.MaxValuesOf)
			expect(t, count(t, "acme", record.MaxValuesOf), record.MaxValuesOf, "1,000 values of an owner are kept")
			t.swap(name("acme", record.MaxValuesOf), 0, "x", time.Hour)
			expect(t, t.value(name("acme", 0)), "none", "beyond 1,000 values of an owner the oldest has to go")
			expect(t, count(t, "acme", record.MaxValuesOf+1), record.MaxValuesOf, "beyond 1,000 values of an owner the oldest goes, and no other")
			for _, kept := range []record.Name{name("globex", 0), {Space: "own", Owner: "acme"}} {
				if t.value(kept) == "none" {
					t.Errorf("the values of an owner took away %v: those of others and those without a ttl do not count", kept)
				}
			}
		}},
		{name: "beyond 10,000 values the oldest goes", run: func(t *storeTest) {
			if testing.Short() {
				t.Skip("stores 10,000 values")
			}
			t.swap(own, 0, "x", 0)
			for i := range record.MaxValues / record.MaxValuesOf {
				fill(t, fmt.Sprint("owner ", i), record.MaxValuesOf)
			}
			if t.value(name("owner 0", 0)) == "none" {
				t.Errorf("10,000 values are kept")
			}
			fill(t, "one more", 100)
			expect(t, count(t, "owner 0", record.MaxValuesOf), record.MaxValuesOf-100, "beyond 10,000 values the oldest have to go")
			expect(t, count(t, "owner 1", 100)+count(t, "one more", 100), 200, "beyond 10,000 values only the oldest go")
			if t.value(own) == "none" {
				t.Errorf("a value without a ttl went: it does not count")
			}
		}},
		{name: "beyond 64 MiB of values the oldest goes", run: func(t *storeTest) {
			big := make([]byte, 4<<20)
			const fit = record.MaxValueBytes / (4 << 20)
			for i := range fit + 1 {
				_, err := t.store.Ports().State.Swap(t.Context(), name("acme", i), 0, big, time.Hour)
				t.ok(err, "Swap")
			}
			has := func(i int) bool {
				_, err := t.store.Ports().State.Get(t.Context(), name("acme", i))
				return err == nil
			}
			expect(t, has(0), false, "beyond 64 MiB of values the oldest has to go")
			for i := 3; i <= fit; i++ {
				expect(t, has(i), true, "values within 64 MiB are kept: number %d of %d", i, fit+1)
			}
		}},
	}
}
