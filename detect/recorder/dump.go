package recorder

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/detect/internal/poll"
)

// Dump writes what is in the ring. Polls go on meanwhile.
func (r *Recorder) Dump(w io.Writer) error { return r.dump(w, "asked for") }

func (r *Recorder) dump(w io.Writer, why string) error {
	entries, first := r.entries(0)
	return newWriting(r.opts).write(w, r.header(why, first), entries)
}

func (r *Recorder) header(why string, lost int) *header {
	return &header{formatName, formatVersion, stamp(r.opts.Now()), why, r.opts.Plain, lost}
}

// writing is the state that the parts of a dump share.
type writing struct {
	opts  Options
	hider *hider
	runs  map[*poll.Env]int
	polls int
}

func newWriting(opts Options) *writing {
	return &writing{opts: opts, hider: newHider(opts.Plain), runs: map[*poll.Env]int{}}
}

// write writes a part of a dump: the header, which the first has, the entries, and an end.
func (w *writing) write(to io.Writer, head *header, entries []entry) error {
	zip := gzip.NewWriter(to)
	buf := bufio.NewWriterSize(zip, 64<<10)
	enc := json.NewEncoder(buf)
	enc.SetEscapeHTML(false) // bodies stay as they are
	var err error
	if head != nil {
		err = enc.Encode(line{Header: head})
	}
	of := func(e *poll.Env) int {
		if w.runs[e] == 0 {
			w.runs[e] = len(w.runs) + 1
			err = errors.Join(err, enc.Encode(line{Run: runOf(w.runs[e], e)}))
		}
		return w.runs[e]
	}
	for i := range entries {
		switch e := &entries[i]; {
		case e.poll != nil:
			w.polls++
			l := w.hider.line(of(e.poll.Env), e.poll)
			err = errors.Join(err, enc.Encode(line{Poll: l}))
		case e.released != nil:
			l := &releasedLine{of(e.released.env), w.hider.keyOf(e.released.key)}
			err = errors.Join(err, enc.Encode(line{Released: l}))
		}
		if err != nil {
			break
		}
	}
	if err == nil {
		err = enc.Encode(line{End: &endLine{w.polls, stamp(w.opts.Now())}})
	}
	if err = errors.Join(err, buf.Flush(), zip.Close()); err != nil {
		return fmt.Errorf("recorder: dump: %w", err)
	}
	return nil
}

// Trigger has Run write a dump. It does not block. The reason, why, becomes part of the file's
// name and of the recording; it should be short, and no secret.
func (r *Recorder) Trigger(why string) {
	select {
	case r.told <- why:
	default: // one is to be made anyway
	}
}

// Run writes dumps to Options.Dir, when Trigger is called and every Options.Every, until
// ctx ends. The file of Every that an earlier process has left becomes a dump of its own
// first. Run removes the dumps beyond Options.Keep, and files that a killed process left
// half-written an hour ago or more. It returns ctx's cause, or an error when Dir cannot be
// made. A dump that fails is logged, and Run goes on.
func (r *Recorder) Run(ctx context.Context) error {
	if r.opts.Dir == "" {
		return errors.New("recorder: Options.Dir is missing: want a directory for Run to write to")
	}
	if err := os.MkdirAll(r.opts.Dir, 0o700); err != nil {
		return fmt.Errorf("recorder: %w", err)
	}
	r.log(errors.Join(r.keepLatest(), r.tidy()), "")
	var tick, pause <-chan time.Time
	var last following
	failing := false
	told := r.told // nil during the pause
	if r.opts.Every > 0 {
		t := time.NewTicker(r.opts.Every)
		defer t.Stop()
		tick = t.C
	}
	for {
		select {
		case <-ctx.Done():
			r.flush()
			return context.Cause(ctx)
		case <-tick:
			err := r.follow(&last)
			if err == nil || !failing { // a full disk is logged once
				r.log(err, "")
			}
			failing = err != nil
		case why := <-told:
			err := r.keep(why)
			if err != nil {
				r.forget()
			}
			r.log(err, why)
			told, pause = nil, time.After(r.opts.Apart)
		case <-pause:
			told = r.told
		}
	}
}

// flush writes a dump if one is still wanted.
func (r *Recorder) flush() {
	select {
	case why := <-r.told:
		r.log(r.keep(why), why)
	default:
	}
}

func (r *Recorder) log(err error, why string) {
	switch {
	case err != nil:
		r.opts.Logger.Error("recording not written", "error", err)
	case why != "":
		r.opts.Logger.Info("recording written", "dir", r.opts.Dir, "why", why)
	}
}

// DumpOnPanic writes a dump to Options.Dir when the goroutine that defers it panics, and
// lets the panic go on; without a Dir it writes none. Panics of other goroutines do not
// reach it.
//
//	defer rec.DumpOnPanic()
func (r *Recorder) DumpOnPanic() {
	if v := recover(); v != nil {
		if r.opts.Dir != "" {
			err := os.MkdirAll(r.opts.Dir, 0o700)
			r.log(errors.Join(err, r.keep("panic")), "panic")
		}
		panic(v)
	}
}

// keep writes a dump of its own, and removes the oldest beyond Options.Keep.
func (r *Recorder) keep(why string) error {
	if err := r.write(nameOf(r.opts.Now(), why), why); err != nil {
		return err
	}
	return r.tidy()
}

// nameOf names a dump of its own.
func nameOf(at time.Time, why string) string {
	name := strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' {
			return c
		}
		return '-'
	}, strings.ToLower(why[:min(len(why), 40)]))
	return "recording-" + at.UTC().Format("20060102T150405.000000000Z") + "-" + name + ".jsonl.gz"
}

// tidy removes the oldest dumps beyond Options.Keep, and the temporary files that a
// process left that was killed while it wrote.
func (r *Recorder) tidy() error {
	files, err := os.ReadDir(r.opts.Dir) // by name: dumps by time
	var dumps, left []string
	remove := func(name string) {
		if e := os.Remove(filepath.Join(r.opts.Dir, name)); !errors.Is(e, fs.ErrNotExist) {
			err = errors.Join(err, e)
		}
	}
	for _, f := range files {
		switch name := f.Name(); {
		case strings.HasPrefix(name, "recording-") && strings.HasSuffix(name, "-"+latest):
			left = append(left, name)
		case strings.HasPrefix(name, "recording-") && strings.HasSuffix(name, ".jsonl.gz"):
			dumps = append(dumps, name)
		case strings.HasPrefix(name, temporary):
			// A younger one may be of another process, which writes it now.
			if info, e := f.Info(); e == nil && r.opts.Now().Sub(info.ModTime()) > time.Hour {
				remove(name)
			}
		}
	}
	for len(dumps) > r.opts.Keep {
		remove(dumps[0])
		dumps = dumps[1:]
	}
	for len(left) > keepLeft {
		remove(left[0])
		left = left[1:]
	}
	return err
}

// temporary begins the name of a file that is not yet whole.
const temporary = ".recording-"

// write makes a file that is there as a whole or not at all, also after a loss of power.
func (r *Recorder) write(name, why string) error {
	return r.create(name, func(f io.Writer) error { return r.dump(f, why) })
}

func (r *Recorder) create(name string, write func(io.Writer) error) error {
	f, err := os.CreateTemp(r.opts.Dir, temporary+"*")
	if err != nil {
		return err
	}
	err = errors.Join(write(f), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(r.opts.Dir, name))
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return syncDir(r.opts.Dir)
}

// syncDir makes the names in a directory durable, where the system has a call for that.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" || runtime.GOOS == "plan9" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
