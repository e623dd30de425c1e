package kept

import (
	"fmt"
	"testing"
)

func TestKept(t *testing.T) {
	var k Kept
	k.Drop("a", "1")
	if got := k.Take("a"); len(got) != 0 {
		t.Errorf("of an empty one: %v", got)
	}
	for _, id := range []string{"1", "2", "3", "2"} {
		k.Add("a", id)
	}
	k.Add("b", "4")
	if !k.Has("b") || k.Has("c") {
		t.Errorf("has some of b: %t, of c: %t; want only of b", k.Has("b"), k.Has("c"))
	}
	k.Drop("a", "1")
	k.Drop("b", "2")
	k.Drop("b", "4")
	if got := k.Take("a"); len(got) != 2 || k.Has("b") || k.n != 0 || len(k.of) != 0 {
		t.Errorf("took %v, and %d of %v are left; want 2 and 3, and nothing", got, k.n, k.of)
	}
	for i := range most + 10 {
		k.Add(fmt.Sprint(i%3), fmt.Sprint(i))
	}
	if n := len(k.Take("0")) + len(k.Take("1")) + len(k.Take("2")); n != most || k.n != 0 {
		t.Errorf("remembers %d, and counts %d after they were taken; want %d and none", n, k.n, most)
	}
}
