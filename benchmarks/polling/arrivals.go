package main

import "github.com/streamwatch/streamwatch/enginetest/arrivals"

// history is when each account posted, in nanoseconds from the start, sorted.
type history struct {
	name    string
	length  int64
	posts   [][]int64
	poisson bool // constant rates without bursts: D* holds
}

// readArrivals reads an arrivals file, gzipped or not.
func readArrivals(path string) (*history, error) {
	recording, err := arrivals.Open(path)
	if err != nil {
		return nil, err
	}
	return fromRecording(recording), nil
}

func fromRecording(r *arrivals.Recording) *history {
	a := &history{name: r.Name, length: int64(r.Length), posts: make([][]int64, len(r.Posts))}
	for i, posts := range r.Posts {
		a.posts[i] = make([]int64, len(posts))
		for k, at := range posts {
			a.posts[i][k] = int64(at)
		}
	}
	return a
}
