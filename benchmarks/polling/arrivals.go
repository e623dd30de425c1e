package main

import "github.com/streamwatch/streamwatch/enginetest"

// arrivals is when each account posted, in nanoseconds from the start, sorted.
type arrivals struct {
	name    string
	length  int64
	posts   [][]int64
	poisson bool // constant rates without bursts: D* holds
}

// readArrivals reads an arrivals file, gzipped or not.
func readArrivals(path string) (*arrivals, error) {
	recording, err := enginetest.OpenArrivals(path)
	if err != nil {
		return nil, err
	}
	return fromRecording(recording), nil
}

func fromRecording(r *enginetest.Arrivals) *arrivals {
	a := &arrivals{name: r.Name, length: int64(r.Length), posts: make([][]int64, len(r.Posts))}
	for i, posts := range r.Posts {
		a.posts[i] = make([]int64, len(posts))
		for k, at := range posts {
			a.posts[i][k] = int64(at)
		}
	}
	return a
}
