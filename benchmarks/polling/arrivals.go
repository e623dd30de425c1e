package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// arrivals is when each account posted, in nanoseconds from the start, sorted.
type arrivals struct {
	name    string
	length  int64
	posts   [][]int64
	poisson bool // constant rates without bursts: D* holds
}

// readArrivals reads an arrivals file, gzipped or not.
func readArrivals(path string) (*arrivals, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r := bufio.NewReader(f)
	if magic, _ := r.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(r)
		if err != nil {
			return nil, fmt.Errorf("polling: %s: %w", path, err)
		}
		return parseArrivals(z)
	}
	return parseArrivals(r)
}

// maxAccounts and maxSpan bound what a header may ask for.
const (
	maxAccounts = 10_000_000
	maxSpan     = 10 * 365 * 86_400 // seconds
)

// parseArrivals reads "# arrivals v1 name=… accounts=N events=M start=UNIX
// end=UNIX", then lines of account, tab, Unix seconds, sorted by time. Other
// lines that begin with # are comments.
func parseArrivals(r io.Reader) (*arrivals, error) {
	lines := bufio.NewScanner(r)
	if !lines.Scan() || !strings.HasPrefix(lines.Text(), "# arrivals v1 ") {
		return nil, fmt.Errorf("polling: line 1 %.40q is not allowed: want # arrivals v1 and its fields", lines.Text())
	}
	a := &arrivals{}
	number := map[string]float64{"accounts": -1, "events": -1, "start": -1, "end": -1}
	for _, field := range strings.Fields(lines.Text())[3:] {
		key, value, _ := strings.Cut(field, "=")
		if key == "name" {
			a.name = value
		} else if _, known := number[key]; known {
			v, err := strconv.ParseFloat(value, 64)
			if err != nil {
				return nil, fmt.Errorf("polling: line 1: %s %q is not allowed: want a number", key, value)
			}
			number[key] = v
		}
	}
	n, span := number["accounts"], number["end"]-number["start"]
	if !(n >= 1 && n <= maxAccounts && number["start"] >= 0 && span > 0 && span <= maxSpan) {
		return nil, fmt.Errorf("polling: line 1 %.99q is not allowed: want 1 to %d accounts, and start before end", lines.Text(), maxAccounts)
	}
	a.length = int64(span * 1e9)
	a.posts = make([][]int64, int(n))
	events, latest := 0, int64(0)
	for at := 2; lines.Scan(); at++ {
		line := lines.Text()
		if strings.HasPrefix(line, "#") {
			continue
		}
		account, seconds, _ := strings.Cut(line, "\t")
		i, err := strconv.Atoi(account)
		if err != nil || i < 0 || i >= int(n) {
			return nil, fmt.Errorf("polling: line %d: account %q is not allowed: want 0 to %d", at, account, int(n)-1)
		}
		s, err := strconv.ParseFloat(seconds, 64)
		if err != nil || !(s >= number["start"] && s <= number["end"]) {
			return nil, fmt.Errorf("polling: line %d: time %q is not allowed: want start to end", at, seconds)
		}
		t := int64((s - number["start"]) * 1e9)
		if t < latest {
			return nil, fmt.Errorf("polling: line %d: time %q is not allowed: want lines sorted by time", at, seconds)
		}
		latest = t
		a.posts[i] = append(a.posts[i], t)
		events++
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("polling: %w", err)
	}
	if events != int(number["events"]) {
		return nil, fmt.Errorf("polling: %d events are not allowed: want %g as line 1 says", events, number["events"])
	}
	return a, nil
}
