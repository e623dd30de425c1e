package arrivals_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/enginetest/arrivals"
)

// A recording is kept in a file, to compare policies on the same arrivals.
func ExampleWrite() {
	recording := &arrivals.Recording{
		Name: "lift-off", Start: time.Unix(1772366400, 0), Length: time.Hour,
		Posts: [][]time.Duration{{90 * time.Second}, {time.Minute, 2500 * time.Millisecond * 60}},
	}
	var file strings.Builder
	if err := arrivals.Write(&file, recording); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(file.String())
	back, err := arrivals.Read(strings.NewReader(file.String()))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(back.Posts)
	// Output:
	// # arrivals v1 name=lift-off accounts=2 events=3 start=1772366400 end=1772370000
	// 1	1772366460
	// 0	1772366490
	// 1	1772366550
	// [[1m30s] [1m0s 2m30s]]
}
