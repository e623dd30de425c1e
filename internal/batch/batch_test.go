package batch_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/streamwatch/streamwatch/internal/batch"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// What comes while a group is worked on goes into the next one, n at most, in
// order; after stop what is left comes, and then nothing.
func TestWaitTakesWhatHasCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, stop := batch.NewQueue[int](0), make(chan struct{})
		var groups [][]int
		var done sync.WaitGroup
		done.Go(func() {
			for group := q.Wait(stop, 4); len(group) > 0; group = q.Wait(stop, 4) {
				groups = append(groups, group)
				<-time.After(time.Second)
			}
		})
		q.Put(0)
		synctest.Wait()
		for i := 1; i <= 6; i++ {
			q.Put(i)
		}
		<-time.After(10 * time.Second)
		q.Put(7)
		synctest.Wait()
		for i := 8; i <= 13; i++ {
			q.Put(i)
		}
		close(stop)
		done.Wait()
		want := [][]int{{0}, {1, 2, 3, 4}, {5, 6}, {7}, {8, 9, 10, 11}, {12, 13}}
		if !slices.EqualFunc(groups, want, slices.Equal) {
			t.Errorf("groups %v, want %v", groups, want)
		}
		if q.Len() != 0 {
			t.Errorf("%d items are left", q.Len())
		}
	})
}

// An item that comes just before stop is closed is taken.
func TestWaitTakesTheLastItem(t *testing.T) {
	for range 100 {
		synctest.Test(t, func(t *testing.T) {
			q, stop := batch.NewQueue[int](0), make(chan struct{})
			got := make(chan []int)
			go func() { got <- q.Wait(stop, 4) }()
			synctest.Wait()
			q.Put(1)
			close(stop)
			if group := <-got; !slices.Equal(group, []int{1}) {
				t.Errorf("items %v, want the one that was put before stop", group)
			}
		})
	}
}

// A full queue holds up who puts until something is taken.
func TestPutWaitsForRoom(t *testing.T) {
	for name, take := range map[string]func(q *batch.Queue[int]){
		"Take":    func(q *batch.Queue[int]) { q.Take(1) },
		"TakeAll": func(q *batch.Queue[int]) { q.TakeAll(nil) },
	} {
		synctest.Test(t, func(t *testing.T) {
			q := batch.NewQueue[int](2)
			put := 0
			go func() {
				for i := range 3 {
					q.Put(i)
					put++
				}
			}()
			synctest.Wait()
			if put != 2 || q.Len() != 2 {
				t.Errorf("%s: %d items put into a queue of 2, which has %d", name, put, q.Len())
			}
			take(q)
			synctest.Wait()
			if put != 3 {
				t.Errorf("%s: the third item is not put after there is room", name)
			}
		})
	}
}

// Items taken are not overwritten by those that come later, and the space that is
// given back is used again.
func TestTakenItemsStay(t *testing.T) {
	q := batch.NewQueue[int](0)
	var all []int
	var groups [][]int
	for i := range 20 {
		q.Put(2 * i)
		q.Put(2*i + 1)
		group := q.Take(1 + i%3)
		groups = append(groups, group)
		_ = append(group, -1) // in space of its own
	}
	for _, g := range append(groups, q.Take(100)) {
		all = append(all, g...)
	}
	for i, v := range all {
		if i != v {
			t.Fatalf("items %v, want all in order", all)
		}
	}
	if len(all) != 40 {
		t.Errorf("%d items, want 40", len(all))
	}

	var used []int
	if allocs := testing.AllocsPerRun(1000, func() {
		for i := range 8 {
			q.Put(i)
		}
		used = q.TakeAll(used)
	}); allocs > 0 {
		t.Errorf("%g allocations for eight items in space that was given back, want none", allocs)
	}
	if want := []int{0, 1, 2, 3, 4, 5, 6, 7}; !slices.Equal(used, want) {
		t.Errorf("items %v, want %v", used, want)
	}
}

// Many rings before anybody listens are one, and none blocks.
func TestBellRemembersOneRing(t *testing.T) {
	bell := batch.NewBell()
	for range 3 {
		bell.Ring()
	}
	<-bell
	select {
	case <-bell:
		t.Error("the bell rings twice for rings that nobody waited for")
	default:
	}
}

func ExampleQueue() {
	q, stop := batch.NewQueue[string](0), make(chan struct{})
	q.Put("a")
	q.Put("b")
	close(stop)
	for group := q.Wait(stop, 10); len(group) > 0; group = q.Wait(stop, 10) {
		fmt.Println(group)
	}
	// Output: [a b]
}
