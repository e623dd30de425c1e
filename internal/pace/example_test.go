package pace_test

import (
	"fmt"
	"time"

	"github.com/streamwatch/streamwatch/internal/pace"
)

// Two accounts share a request every ten seconds; one posts every minute.
func Example() {
	p, err := pace.New(0.1)
	if err != nil {
		panic(err)
	}
	const busy, silent = 0, 1
	for _, slot := range []int32{busy, silent} {
		if err := p.Add(slot, 0, pace.Account{}); err != nil {
			panic(err)
		}
	}
	polls := map[int32]int{}
	seen := int64(0)
	for now := int64(0); now < int64(24*time.Hour); now += int64(10 * time.Second) {
		slot, ok := p.Next(now)
		if !ok {
			continue
		}
		polls[slot]++
		var posts []int64
		if slot == busy {
			for ; seen+int64(time.Minute) <= now; seen += int64(time.Minute) {
				posts = append(posts, seen+int64(time.Minute))
			}
		}
		if _, err := p.Observe(slot, now, posts); err != nil {
			panic(err)
		}
	}
	fmt.Println("busy more often:", polls[busy] > polls[silent])
	fmt.Println("silent not starved:", polls[silent] > 1500)
	fmt.Println("budget kept:", p.Demand() < 0.1)
	// Output:
	// busy more often: true
	// silent not starved: true
	// budget kept: true
}
