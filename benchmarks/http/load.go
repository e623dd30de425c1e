package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"
)

// measured is what one round showed.
type measured struct {
	rate float64 // requests a second
	p99  time.Duration
}

// load asks over so many connections for so long. The client is a bare one, for
// because its cost counts for both contestants and hides their difference.
func load(addr, path, key string, bodyLen, conns int, d time.Duration) (measured, error) {
	request := []byte("GET " + path + " HTTP/1.1\r\nHost: localhost\r\nX-Api-Key: " + key + "\r\n\r\n")
	var (
		wg   sync.WaitGroup
		mu   sync.Mutex
		all  []time.Duration
		errs error
	)
	began := time.Now()
	for range conns {
		wg.Go(func() {
			took, err := ask(addr, request, bodyLen, began.Add(d))
			mu.Lock()
			defer mu.Unlock()
			all, errs = append(all, took...), errors.Join(errs, err)
		})
	}
	wg.Wait()
	total := time.Since(began)
	if errs != nil || len(all) == 0 {
		return measured{}, errors.Join(errs, fmt.Errorf("%d answers", len(all)))
	}
	slices.Sort(all)
	return measured{rate: float64(len(all)) / total.Seconds(), p99: all[len(all)*99/100]}, nil
}

// ask repeats a request on one connection until it is time.
func ask(addr string, request []byte, bodyLen int, until time.Time) (took []time.Duration, err error) {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	r := bufio.NewReader(c)
	for now := time.Now(); len(took) == 0 || now.Before(until); {
		if _, err := c.Write(request); err != nil {
			return nil, err
		}
		n, err := answer(r)
		if err != nil {
			return nil, err
		}
		if n != bodyLen {
			return nil, fmt.Errorf("a body of %d bytes, want %d", n, bodyLen)
		}
		after := time.Now()
		took = append(took, after.Sub(now))
		now = after
	}
	return took, nil
}

// answer reads one answer of 200 and tells the length of its body.
func answer(r *bufio.Reader) (int, error) {
	line, err := r.ReadSlice('\n')
	if err != nil || !bytes.HasPrefix(line, []byte("HTTP/1.1 200 ")) {
		return 0, fmt.Errorf("answer %q: %w", line, err)
	}
	length := -1
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return 0, err
		}
		if len(line) == 2 {
			break
		}
		if name, value, ok := bytes.Cut(line, []byte(": ")); ok && string(name) == "Content-Length" {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil {
				return 0, err
			}
		}
	}
	if length < 0 {
		return 0, errors.New("an answer without Content-Length")
	}
	_, err = io.CopyN(io.Discard, r, int64(length))
	return length, err
}
