package dispatch

import (
	"fmt"
	"testing"
)

func TestKept(t *testing.T) {
	var k kept
	k.drop("a", "1")
	if got := k.take("a"); len(got) != 0 {
		t.Errorf("of an empty one: %v", got)
	}
	for _, id := range []string{"1", "2", "3", "2"} {
		k.add("a", id)
	}
	k.add("b", "4")
	if !k.has("b") || k.has("c") {
		t.Errorf("has some of b: %t, of c: %t; want only of b", k.has("b"), k.has("c"))
	}
	k.drop("a", "1")
	k.drop("b", "2")
	k.drop("b", "4")
	if got := k.take("a"); len(got) != 2 || k.has("b") || k.n != 0 || len(k.of) != 0 {
		t.Errorf("took %v, and %d of %v are left; want 2 and 3, and nothing", got, k.n, k.of)
	}
	for i := range maxKept + 10 {
		k.add(fmt.Sprint(i%3), fmt.Sprint(i))
	}
	if n := len(k.take("0")) + len(k.take("1")) + len(k.take("2")); n != maxKept || k.n != 0 {
		t.Errorf("remembers %d, and counts %d after they were taken; want %d and none", n, k.n, maxKept)
	}
}
