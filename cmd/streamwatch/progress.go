package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// untold is how long a command says nothing of its progress where its standard error is no terminal.
// Tests shorten it.
var untold = 5 * time.Second

// progress tells on w, until stop is called, how far a command is: on a terminal on one line, which is
// removed at the end, elsewhere on a line each few seconds. text is called from another goroutine; it
// returns "" while there is nothing to tell.
func progress(w io.Writer, text func() string) (stop func()) {
	every, begin, end := untold, "", "\n"
	if isTerminal(w) {
		every, begin, end = time.Second/4, "\r\033[K", ""
	}
	began, ended := time.Now(), make(chan struct{})
	var telling sync.WaitGroup
	telling.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				if line := text(); line != "" {
					fmt.Fprintf(w, "%s%s, %s%s", begin, line, time.Since(began).Round(time.Second), end)
				}
			case <-ended:
				io.WriteString(w, begin)
				return
			}
		}
	})
	return sync.OnceFunc(func() {
		close(ended)
		telling.Wait()
	})
}

// isTerminal reports whether w is one, or another device of characters.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// sizes tells how much of a file is in its copy, whose name matches pattern.
func sizes(pattern, file string) func() string {
	size := func(path string) (n int64) {
		if info, err := os.Stat(path); err == nil {
			n = info.Size()
		}
		return n
	}
	return func() string {
		found, _ := filepath.Glob(pattern)
		if found == nil {
			return ""
		}
		return fmt.Sprintf("%d of about %d MB", size(found[0])>>20, size(file)>>20)
	}
}
