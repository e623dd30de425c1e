package sqlite

import (
	"os"
	"time"
)

// Scrub keeps the file locked for as long as it rewrites it. So that writers of all
// processes go on waiting, it has a mark beside it: a file that it writes anew every
// markEvery. One that is older than markLasts was left by a process that has ended.
const (
	markSuffix = "-scrub"
	markEvery  = time.Second
	markLasts  = 5 * time.Second
)

// keepMark makes the mark beside the file at path, and keeps it new until end is called.
func keepMark(path string) (end func(), err error) {
	mark := path + markSuffix
	renew := func() error {
		return os.WriteFile(mark, []byte("The file beside this one is being rewritten without what was removed.\n"), 0o600)
	}
	if err := renew(); err != nil {
		return nil, wrap(err)
	}
	ended, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(markEvery)
		defer tick.Stop()
		for {
			select {
			case <-ended:
				return
			case <-tick.C:
				renew() // also when another Scrub has removed it; an error lets it grow old
			}
		}
	}()
	return func() {
		close(ended)
		<-stopped
		os.Remove(mark)
	}, nil
}

// scrubbing reports whether a Scrub, of any process, goes on for the file at path.
func scrubbing(path string) bool {
	info, err := os.Stat(path + markSuffix)
	return err == nil && time.Since(info.ModTime()).Abs() < markLasts
}
