package seen

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// Polls of a timeline that grows, shrinks, pages, hides posts for a while and
// breaks off, against a window made of plain maps.
func TestWindowAgainstModel(t *testing.T) {
	for name, id := range map[string]func(n int) string{
		"numeric": func(n int) string { return fmt.Sprint(1_200_000_000_000_000_000 + n*4_194_304) },
		"ULID":    func(n int) string { return fmt.Sprintf("01J%020dABC", n) },
		"mixed": func(n int) string {
			if n%7 == 0 {
				return fmt.Sprintf("at://did:plc:x/%d", n)
			}
			return fmt.Sprint(n)
		},
	} {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 2))
			var w Window
			last, older := map[string]bool{}, map[string]bool{}
			var timeline []int // newest last
			for step := range 5000 {
				for range rng.IntN(4) {
					timeline = append(timeline, step*10+rng.IntN(10)) // out of order, now and then twice
				}
				if len(timeline) > 5 && rng.IntN(20) == 0 { // deleted
					i := len(timeline) - 1 - rng.IntN(5)
					timeline = append(timeline[:i], timeline[i+1:]...)
				}
				shown := timeline[max(0, len(timeline)-5-rng.IntN(60)):]
				if rng.IntN(15) == 0 && len(shown) > 0 { // a stale answer
					shown = shown[:len(shown)-rng.IntN(min(4, len(shown)))]
				}
				p := w.Poll()
				var newIDs []string
				showing := map[string]bool{}
				for _, n := range slices.Backward(shown) {
					s := id(n)
					known := last[s] || older[s]
					if got := p.Has(s); got != known {
						t.Fatalf("step %d: Has(%s) = %v, want %v", step, s, got, known)
					}
					showing[s] = true
					if !known {
						newIDs = append(newIDs, s)
					}
				}
				if rng.IntN(10) == 0 { // broke off
					w.Add(newIDs)
					for _, s := range newIDs {
						last[s] = true
					}
				} else {
					w.Renew(p, newIDs)
					older = map[string]bool{}
					for s := range last {
						if !showing[s] {
							older[s] = true
						}
					}
					last = showing
				}
				if w.Len() != len(last)+len(older) {
					t.Fatalf("step %d: %d ids, want %d", step, w.Len(), len(last)+len(older))
				}
			}
		})
	}
}

// Two ids with one hash are two ids.
func TestSameHashIsNotTheSameID(t *testing.T) {
	w := Window{keys: []uint64{7, 7, 7}, last: 3, text: &arena{bytes: []byte("abcde"), ends: []uint32{1, 3, 5}}}
	for _, row := range []struct {
		id   string
		want int
	}{{"a", 0}, {"bc", 1}, {"de", 2}, {"x", -1}, {"b", -1}} {
		if got := w.search(7, row.id, 0, 3); got != row.want {
			t.Errorf("search for %q = %d, want %d", row.id, got, row.want)
		}
	}
}

func TestNumericKeyIsOneToOne(t *testing.T) {
	for id, want := range map[string]bool{
		"0": true, "1": true, "18446744073709551615": true, "1212092628029698048": true,
		"": false, "00": false, "01": false, "+1": false, "-1": false, " 1": false, "1 ": false, "1e3": false, "0x1": false,
		"18446744073709551616": false, "99999999999999999999": false, "184467440737095516150": false, "１": false,
	} {
		n, ok := numericKey(id)
		if ok != want || ok && formatUint(n) != id {
			t.Errorf("numericKey(%q) = %d, %v; want %v and the way back", id, n, ok, want)
		}
	}
}

func FuzzNumericKey(f *testing.F) {
	for _, s := range []string{"", "0", "01", "18446744073709551615", "18446744073709551616", "12a"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if n, ok := numericKey(s); ok && formatUint(n) != s {
			t.Errorf("%q became %d", s, n)
		}
	})
}

func TestUnchangedPollAllocatesLittleAndChangesNothing(t *testing.T) {
	var w Window
	ids := make([]string, 20)
	for i := range ids {
		ids[i] = fmt.Sprint(1_212_092_628_029_698_048 + i)
	}
	w.Renew(w.Poll(), ids)
	before := &w.keys[0]
	if n := testing.AllocsPerRun(100, func() {
		p := w.Poll()
		for _, id := range ids {
			if !p.Has(id) {
				t.Fatal("forgotten")
			}
		}
		w.Renew(p, nil)
	}); n > 2 {
		t.Errorf("%v allocations for a poll that shows nothing new, want at most the Poll itself", n)
	}
	if &w.keys[0] != before || cap(w.keys) > 20 {
		t.Errorf("an unchanged window was laid out anew, or has room for %d keys instead of 20", cap(w.keys))
	}
}

// A cold window among a million: what a page of 20 with nothing new costs.
func BenchmarkWindowPage(b *testing.B) {
	const accounts = 100_000
	windows := make([]Window, accounts)
	ids := make([]string, 20)
	for i := range ids {
		ids[i] = fmt.Sprint(1_212_092_628_029_698_048 + i*4_194_304)
	}
	for i := range windows {
		windows[i].Renew(windows[i].Poll(), ids)
	}
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		w := &windows[i]
		i = (i + 7919) % accounts
		p := w.Poll()
		for _, id := range ids {
			if !p.Has(id) {
				b.Fatal("forgotten")
			}
		}
		w.Renew(p, nil)
	}
}

func ExampleWindow() {
	var w Window
	w.Renew(w.Poll(), []string{"10", "11"})
	poll := w.Poll()
	var news []string
	for _, id := range strings.Fields("12 11 9") { // a page, newest first
		if !poll.Has(id) {
			news = append(news, id)
		}
	}
	fmt.Println(news)
	w.Renew(poll, news)
	fmt.Println(w.Has("12"), w.Has("10"), w.Has("8"))
	// Output:
	// [12 9]
	// true true false
}
