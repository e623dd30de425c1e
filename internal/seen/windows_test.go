package seen

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// ofPosts is a window of n numeric ids, or texts of some length.
func ofPosts(from, n, textLength int) Window {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprint(1_212_092_628_029_698_048 + int64(from+i*977)<<22)
		if textLength > 0 {
			ids[i] += strings.Repeat("x", textLength)
		}
	}
	var w Window
	w.Add(ids)
	return w
}

// Windows of many accounts that are set, set again and emptied, in any order,
// against a map of them.
func TestWindowsAgainstModel(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var ws Windows
	model := map[int]Window{}
	const accounts = 5000
	for step := range 60_000 {
		i := rng.IntN(accounts)
		if rng.IntN(10) == 0 {
			i += 3 * accounts // numbers may be far apart
		}
		if w := ws.At(i); w != model[i] {
			t.Fatalf("step %d: account %d has %d ids, want %d", step, i, w.Len(), model[i].Len())
		}
		switch rng.IntN(20) {
		case 0:
			ws.Set(i, Window{})
			delete(model, i)
		case 1:
			ws.Set(i, ws.At(i))
		case 2: // by itself
			w := ofPosts(step, 1+rng.IntN(40), 200)
			ws.Set(i, w)
			model[i] = w
		default:
			w := ofPosts(step, rng.IntN(40), 0)
			ws.Set(i, w)
			model[i] = w
		}
		if step%2000 == 0 {
			checkWindows(t, &ws, model)
		}
	}
	checkWindows(t, &ws, model)
	for i, w := range model {
		if ws.At(i) != w {
			t.Errorf("account %d has %d ids, want %d", i, ws.At(i).Len(), w.Len())
		}
		ws.Set(i, Window{})
	}
	checkWindows(t, &ws, nil)
}

// checkWindows counts what the blocks hold.
func checkWindows(t *testing.T, ws *Windows, model map[int]Window) {
	t.Helper()
	used, live, large := 0, 0, 0
	for _, b := range ws.blocks {
		used += len(b.data)
		live += b.live
	}
	wanted := 0
	for _, w := range model {
		if size := (len(w.data) + entryTail + entryUnit - 1) / entryUnit * entryUnit; size > largest {
			large++
		} else if w.data != "" {
			wanted += size
		}
	}
	if used != ws.used || used-live != ws.garbage || live != wanted || len(ws.large) != large {
		t.Fatalf("%d bytes, %d of them live, %d windows by themselves, want %d and %d; %d and %d garbage are noted",
			used, live, len(ws.large), wanted, large, ws.used, ws.garbage)
	}
	if most := max(2*blockSize, live/7) + largest; ws.garbage > most {
		t.Fatalf("%d bytes are garbage beside %d, want at most %d", ws.garbage, live, most)
	}
}

// What At gave stays as it was, for polls that end when others have long changed
// the account's window.
func TestWindowsGiveValues(t *testing.T) {
	var ws Windows
	first := ofPosts(0, 20, 0)
	ws.Set(7, first)
	w := ws.At(7)
	p := w.Poll()
	for i := range 20_000 {
		ws.Set(i%100, ofPosts(1+i, 20, 0))
	}
	if ws.At(7) == first {
		t.Fatal("the window was not changed")
	}
	if w != first || !p.Has("1212092628029698048") || p.Has("1212092628029698049") {
		t.Error("a window that was given has changed")
	}
}

func TestWindowsSetOfWhatIsThereWritesNothing(t *testing.T) {
	var ws Windows
	ws.Set(3, ofPosts(0, 20, 0))
	used := ws.used
	if n := testing.AllocsPerRun(100, func() { ws.Set(3, ws.At(3)) }); n > 0 || ws.used != used {
		t.Errorf("%v allocations, %d bytes more", n, ws.used-used)
	}
}

func ExampleWindows() {
	var ws Windows // of all accounts
	w := ws.At(42)
	poll := w.Poll()
	for _, id := range []string{"12", "11"} { // a page
		fmt.Println(id, poll.Has(id))
	}
	w.Renew(poll, []string{"12", "11"})
	ws.Set(42, w) // after the commit
	w = ws.At(42)
	fmt.Println(w.Has("12"), w.Len())
	// Output:
	// 12 false
	// 11 false
	// true 2
}
