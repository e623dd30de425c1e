package push

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"testing/synctest"
)

func add(t *testing.T, p *Positions, position string) uint64 {
	t.Helper()
	n, err := p.Add(t.Context(), position)
	if err != nil || n == 0 {
		t.Fatalf("number %d, %v", n, err)
	}
	return n
}

// Whatever order posts are committed in, the position to resume from is that of the
// last one before which all are.
func TestPositionIsALowWatermark(t *testing.T) {
	const posts = 300
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 1))
		p := NewPositions()
		var numbers []uint64
		var open []int
		committed := make([]bool, posts)
		low := 0 // posts before it are committed
		check := func(with []uint64) {
			for low < len(numbers) && committed[low] {
				low++
			}
			want := ""
			if low > 0 {
				want = fmt.Sprint(low - 1)
			}
			if got := p.Resume(); got != want {
				t.Fatalf("seed %d: resumes at %q, want %q", seed, got, want)
			}
			reached := low
			in := map[uint64]bool{}
			for _, n := range with {
				in[n] = true
			}
			for reached < len(numbers) && (committed[reached] || in[numbers[reached]]) {
				reached++
			}
			want = ""
			if reached > 0 {
				want = fmt.Sprint(reached - 1)
			}
			if got, ok := p.With(with); got != want || ok != (want != "") {
				t.Fatalf("seed %d: stores %q, %t with %v, want %q", seed, got, ok, with, want)
			}
		}
		for len(numbers) < posts || len(open) > 0 {
			if len(numbers) < posts && r.IntN(2) == 0 {
				open = append(open, len(numbers))
				numbers = append(numbers, add(t, p, strconv.Itoa(len(numbers))))
				continue
			}
			var group []uint64
			r.Shuffle(len(open), func(a, b int) { open[a], open[b] = open[b], open[a] })
			n := r.IntN(len(open) + 1)
			for _, i := range open[:n] {
				group = append(group, numbers[i])
			}
			check(group)
			p.Done(group)
			for _, i := range open[:n] {
				committed[i] = true
			}
			open = open[n:]
			check(nil)
		}
	}
}

func TestPositionsWithoutPosts(t *testing.T) {
	p := NewPositions()
	p.Begin("a")
	if _, ok := p.With(nil); ok || p.Resume() != "a" {
		t.Errorf("resumes at %q, stores %t: want what is in the journal", p.Resume(), ok)
	}
	p.Pass("b")
	p.Pass("") // this signal had none
	if at, ok := p.With(nil); at != "b" || !ok || p.Resume() != "b" {
		t.Errorf("stores %q, %t, resumes at %q, want b", at, ok, p.Resume())
	}
	p.Stored("b")
	if at, ok := p.With(nil); ok {
		t.Errorf("%q is stored again", at)
	}
	n := add(t, p, "c")
	p.Pass("d") // behind the post
	if at, _ := p.With(nil); at != "b" || p.Resume() != "b" {
		t.Errorf("stores %q, resumes at %q while a post is open, want b", at, p.Resume())
	}
	if at, ok := p.With([]uint64{n}); at != "d" || !ok {
		t.Errorf("stores %q, %t with the post, want d", at, ok)
	}
	m := add(t, p, "e")
	p.Begin("f") // another process has had the stream
	p.Done([]uint64{n})
	if at, ok := p.With([]uint64{m}); ok || p.Resume() != "f" {
		t.Errorf("stores %q, %t, resumes at %q with posts from before, want f", at, ok, p.Resume())
	}
	p.Done([]uint64{m})
	p.Pass("d")
	n, m = add(t, p, "d"), add(t, p, "") // a post without a position
	p.Done([]uint64{n})
	if at, _ := p.With([]uint64{m}); at != "d" || p.Resume() != "d" {
		t.Errorf("stores %q, resumes at %q, want d", at, p.Resume())
	}
}

// A post that finds no room waits for one, as long as its connection lasts.
func TestPositionsWaitForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPositions()
		var first uint64
		for i := range maxOpen {
			if n := add(t, p, strconv.Itoa(i)); i == 0 {
				first = n
			}
		}
		gone := errors.New("gone")
		ctx, cancel := context.WithCancelCause(t.Context())
		errs := make(chan error, 1)
		go func() {
			_, err := p.Add(ctx, "x")
			errs <- err
		}()
		synctest.Wait()
		cancel(gone)
		if err := <-errs; !errors.Is(err, gone) {
			t.Errorf("error %v, want %v", err, gone)
		}
		numbers := make(chan uint64, 1)
		go func() {
			n, err := p.Add(t.Context(), "y")
			if err != nil {
				t.Error(err)
			}
			numbers <- n
		}()
		p.Done([]uint64{first + 1}) // the first is still open
		synctest.Wait()
		select {
		case n := <-numbers:
			t.Errorf("post %d found room: want it to wait for the first", n)
		default:
		}
		p.Done([]uint64{first})
		if n := <-numbers; n != first+maxOpen {
			t.Errorf("number %d, want %d", n, first+maxOpen)
		}
		if got := p.Resume(); got != "1" {
			t.Errorf("resumes at %q, want 1", got)
		}
	})
}
