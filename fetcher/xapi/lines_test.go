package xapi

import (
	"context"
	"errors"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A stream that brings no line is given up; one whose lines nobody takes is not.
func TestPumpWatchesForSilence(t *testing.T) {
	for name, c := range map[string]struct {
		pause, hold time.Duration // between two lines, and before each is taken
		want        error
		lines       int
	}{
		"signs of life":  {20 * time.Second, 0, io.EOF, 10},
		"silent":         {silence + time.Second, 0, errSilent, 0},
		"nobody listens": {time.Second, 10 * time.Minute, io.EOF, 10},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				from, to := io.Pipe()
				rows := make(chan row)
				var running sync.WaitGroup
				running.Go(func() { pump(t.Context(), from, func() { from.Close() }, rows) })
				running.Go(func() {
					for range 10 {
						<-time.After(c.pause)
						if _, err := to.Write([]byte("\r\n")); err != nil {
							return
						}
					}
					to.Close()
				})
				n := 0
				for r := range rows {
					<-time.After(c.hold)
					if r.err != nil {
						if !errors.Is(r.err, c.want) {
							t.Errorf("ends with %v, want %v", r.err, c.want)
						}
						break
					}
					n++
				}
				if n != c.lines {
					t.Errorf("%d lines, want %d", n, c.lines)
				}
				running.Wait()
			})
		})
	}
}

// A stream that nobody wants any more is closed.
func TestPumpEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from, to := io.Pipe()
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { pump(ctx, from, func() {}, make(chan row)) })
		if _, err := to.Write([]byte("a\n")); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		cancel()
		running.Wait()
		if _, err := to.Write([]byte("b\n")); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("%v, want the body closed", err)
		}
	})
}
