package seen

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unsafe"
)

// Polls of a timeline that grows, shrinks, pages, hides posts for a while and
// breaks off, against a window made of plain maps.
func TestWindowAgainstModel(t *testing.T) {
	for name, id := range map[string]func(n int) string{
		"numeric": func(n int) string { return fmt.Sprint(1_200_000_000_000_000_000 + int64(n)*4_194_304) },
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
	run := []entry{{key: 7, id: "a"}, {key: 7, id: "bc"}, {key: 7, id: "de"}}
	l := readLayout(pack(run, nil, true))
	for _, row := range []struct {
		id   string
		want int
	}{{"a", 0}, {"bc", 1}, {"de", 2}, {"x", -1}, {"b", -1}} {
		if got := l.find(7, row.id); got != row.want {
			t.Errorf("find %q = %d, want %d", row.id, got, row.want)
		}
	}
	// A poll looks at the next one down first: here at y, for x.
	k := textKey("x")
	w := Window{data: pack([]entry{{key: k, id: "x"}, {key: k, id: "y"}}, nil, true)}
	p := w.Poll()
	if !p.Has("x") || !p.shown(0) || p.shown(1) {
		t.Error("the poll took an id for another of the same hash")
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

// The way over strconv is the plain form's definition.
func checkNumericKey(t *testing.T, id string) {
	t.Helper()
	want, err := strconv.ParseUint(id, 10, 64)
	plain := err == nil && strconv.FormatUint(want, 10) == id
	if n, ok := numericKey(id); ok != plain || ok && n != want {
		t.Errorf("numericKey(%q) = %d, %v; want %d, %v", id, n, ok, want, plain)
	}
}

func TestNumericKeyOfEveryLength(t *testing.T) {
	for length := range 22 {
		for _, digits := range []string{"12345678901234567890123", "99999999999999999999999", "01234567890123456789012", "10000000000000000000000", "18446744073709551615000", "18446744073709551616000"} {
			checkNumericKey(t, digits[:length])
			for i := range length { // one byte that is no digit, in every place
				for _, c := range []byte{0, ' ', '/', ':', 'A', 0x80, 0xff} {
					id := []byte(digits[:length])
					id[i] = c
					checkNumericKey(t, string(id))
				}
			}
		}
	}
}

func FuzzNumericKey(f *testing.F) {
	for _, s := range []string{"", "0", "01", "1234567", "12345678", "1234567890123456", "18446744073709551615", "18446744073709551616", "12a", "1212092628029698048", "12120926/8029698048"} {
		f.Add(s)
	}
	f.Fuzz(checkNumericKey)
}

// What a window takes on the heap: its bits, and no room to spare. A snowflake
// id has 22 bits below the millisecond.
func TestWindowSize(t *testing.T) {
	for _, tc := range []struct {
		name           string
		shown, besides int // ids of the last complete poll, and older ones
		apart          time.Duration
		want           int // bytes, trailer included
	}{
		{"empty", 0, 0, 0, 0},
		{"one post", 1, 0, 0, trailerSize},
		{"twenty over an hour", 20, 0, 3 * time.Minute, 20*44/8 + trailerSize},
		{"twenty over a month", 20, 0, 36 * time.Hour, 20*54/8 + trailerSize},
		{"twenty over five years", 20, 0, 2400 * time.Hour, 20*8 + trailerSize},
		{"twenty and five older", 20, 5, 3 * time.Hour, (25*50+7)/8 + trailerSize},
		{"all of a page replaced", 20, 20, 3 * time.Minute, 40*45/8 + trailerSize},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var ids []string
			for i := range tc.shown + tc.besides {
				ids = append(ids, fmt.Sprint(int64(1_212_092_628_029_698_048)-int64(i)*tc.apart.Milliseconds()<<22))
			}
			var w Window
			w.Renew(w.Poll(), ids[len(ids)-tc.besides:])
			w.Renew(w.Poll(), ids[:tc.shown])
			if len(w.data) != tc.want || w.Len() != len(ids) {
				t.Errorf("%d bytes for %d ids, want %d for %d", len(w.data), w.Len(), tc.want, len(ids))
			}
			for _, id := range ids {
				if !w.Has(id) {
					t.Errorf("%s is forgotten", id)
				}
			}
			if w.Has("1212092628029698047") || w.Has("3") || w.Has("") {
				t.Error("an id is remembered that was never shown")
			}
		})
	}
}

// A window keeps exactly the ids it is given, whatever they are: any text, both
// kinds mixed, more than a word of bits has room for.
func FuzzWindow(f *testing.F) {
	f.Add("1 2 3", "2 4", uint8(1))
	f.Add("0 18446744073709551615", "9223372036854775808 7", uint8(0))
	f.Add("a 01 1", "a b  c", uint8(3))
	f.Add(strings.Repeat("7 8 9 10 ", 3), "at://did:plc:x/1 12", uint8(2))
	f.Fuzz(func(t *testing.T, first, second string, shown uint8) {
		before, after := strings.Split(first, " "), strings.Split(second, " ")
		var w Window
		w.Renew(w.Poll(), before)
		p := w.Poll()
		for _, id := range before[:min(int(shown), len(before))] {
			if !p.Has(id) {
				t.Fatalf("%q is forgotten", id)
			}
		}
		w.Renew(p, after)
		all := map[string]bool{}
		for _, id := range append(before, after...) {
			if all[id] = true; !w.Has(id) {
				t.Fatalf("%q is forgotten", id)
			}
		}
		if w.Len() != len(all) || w.Has(first+second+"x") {
			t.Fatalf("%d ids, want %d and no others", w.Len(), len(all))
		}
	})
}

func TestUnchangedPollAllocatesLittleAndChangesNothing(t *testing.T) {
	var w Window
	ids := make([]string, 20)
	for i := range ids {
		ids[i] = fmt.Sprint(1_212_092_628_029_698_048 + int64(i))
	}
	w.Renew(w.Poll(), ids)
	before := unsafe.StringData(w.data)
	if n := testing.AllocsPerRun(100, func() {
		p := w.Poll()
		for _, id := range ids {
			if !p.Has(id) {
				t.Fatal("forgotten")
			}
		}
		w.Renew(p, nil)
	}); n > 1 {
		t.Errorf("%v allocations for a poll that shows nothing new, want at most the Poll itself", n)
	}
	if unsafe.StringData(w.data) != before {
		t.Error("an unchanged window was laid out anew")
	}
}

// What a page of 20 with nothing new costs, newest first: of one account again
// and again, and of accounts at random, whose windows no cache has at hand.
func BenchmarkWindowPage(b *testing.B) {
	for _, bench := range []struct {
		name     string
		accounts int
	}{{"hot", 1}, {"cold", 100_000}} {
		b.Run(bench.name, func(b *testing.B) {
			var windows Windows
			ids := make([]string, 20)
			for i := range ids {
				ids[i] = fmt.Sprint(1_212_092_628_029_698_048 - int64(i)*3_600_000<<22) // one an hour
			}
			for i := range bench.accounts {
				w := windows.At(i)
				w.Add(ids)
				windows.Set(i, w)
			}
			rng := rand.New(rand.NewPCG(1, 2))
			b.ReportAllocs()
			for b.Loop() {
				i := rng.IntN(bench.accounts)
				w := windows.At(i)
				p := w.Poll()
				for _, id := range ids {
					if !p.Has(id) {
						b.Fatal("forgotten")
					}
				}
				w.Renew(p, nil)
				windows.Set(i, w)
			}
		})
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
