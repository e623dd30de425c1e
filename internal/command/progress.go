package command

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// Progress tells on w, until stop is called, how far a command is: on a terminal on one line, which is
// removed at the end, elsewhere on a line each 5 s. text is called from another goroutine; it returns
// "" while there is nothing to tell.
func Progress(w io.Writer, text func() string) (stop func()) {
	every, begin, end := 5*time.Second, "", "\n"
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

// JSON adds the flag -json.
func (f *Flags) JSON() *bool {
	asked := new(bool)
	f.Add(asked, "json", "print JSON")
	return asked
}

// PrintJSON prints a value.
func PrintJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
