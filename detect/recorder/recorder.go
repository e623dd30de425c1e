package recorder

import (
	"fmt"
	"log/slog"
	"sync"
	"time"
	"unsafe"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect/internal/poll"
	"github.com/streamwatch/streamwatch/fetcher"
)

// Options set up a Recorder. The zero value of each field means its default.
type Options struct {
	// Bytes bounds the ring, by an estimate of what its records keep from being freed.
	// Defaults to 16 MiB.
	Bytes int
	// Plain leaves texts, names, addresses and ids in dumps as they are. Defaults to
	// false: pseudonyms. These do not hide which names of a list a dump has.
	Plain bool

	// Dir is where Run writes dumps, of this process alone. Defaults to none: only Dump makes
	// them.
	Dir string
	// Keep is how many dumps stay in Dir beside that of Every, and beside the four newest of
	// Every that earlier processes have left. The oldest are removed. Defaults to 16.
	Keep int
	// Apart is the shortest time between two dumps of Run's. What is told meanwhile goes
	// into the next. Defaults to 1 min.
	Apart time.Duration
	// Every is how often Run adds what is new to latest.jsonl.gz in Dir, for what comes
	// without warning: the file ends at most that long, and the time to write two dumps,
	// before the process did. A second costs little: what is new is encoded once. The file
	// has what is in the ring and, before it, up to twice Bytes. Defaults to 0: never.
	Every time.Duration

	// Logger is told of dumps, and of those that failed. Defaults to none.
	Logger *slog.Logger
	// Now stamps dumps. Defaults to time.Now.
	Now func() time.Time
}

func (o Options) withDefaults() (Options, error) {
	for _, f := range []struct {
		ok    bool
		name  string
		value any
		want  string
	}{
		{o.Bytes >= 0, "Bytes", o.Bytes, "0 (16 MiB) or a positive number"},
		{o.Keep >= 0, "Keep", o.Keep, "0 (16) or a positive number"},
		{o.Apart >= 0, "Apart", o.Apart, "0 (1 min) or a positive duration"},
		{o.Every >= 0 && (o.Every == 0 || o.Dir != ""), "Every", o.Every, "0 for none, or a positive duration together with Dir"},
	} {
		if !f.ok {
			return o, fmt.Errorf("recorder: Options.%s %v is not allowed: want %s", f.name, f.value, f.want)
		}
	}
	if o.Bytes == 0 {
		o.Bytes = 16 << 20
	}
	if o.Keep == 0 {
		o.Keep = 16
	}
	if o.Apart == 0 {
		o.Apart = time.Minute
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o, nil
}

// Recorder keeps the last polls of one engine, or of several one after the other: it may
// outlive a restart within the process. Its methods are safe for concurrent use.
type Recorder struct {
	opts Options
	told chan string // why a dump is wanted

	mu    sync.Mutex
	ring  []entry // from head on, oldest first; those before are empty
	head  int
	bytes int
	lost  int // records that gave way

	losses map[string]noticed   // by source
	dumped map[string]time.Time // by cause, when a dump was last wanted for it
}

// entry is a record, or that a target was released.
type entry struct {
	poll     *poll.Record
	released *released
	bytes    int
}

type released struct {
	env *poll.Env
	key string
}

// New returns an empty Recorder. It starts nothing.
func New(opts Options) (*Recorder, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Recorder{opts: opts, told: make(chan string, 1), losses: make(map[string]noticed), dumped: make(map[string]time.Time)}, nil
}

// Wrap returns cfg with the polls of all of its sources recorded. A gap that opens is a
// reason for a dump, and so is a post that was shown and is not delivered, see DroppedStats,
// Ancient and WrongVersions of detect.Stats: each cause once an hour at most. Other reasons,
// such as Config.OnTrouble or a customer who reports a loss, are the caller's to Trigger.
//
// Each Fetcher is wrapped, and its other roles are set in Roles. Another wrapper around the
// Fetchers returned hides the recorder from the engine.
func (r *Recorder) Wrap(cfg streamwatch.Config) streamwatch.Config {
	if cfg.Fetcher != nil {
		cfg.Roles = cfg.Roles.Or(fetcher.RolesOf(cfg.Fetcher))
		cfg.Fetcher = taped{cfg.Fetcher, r}
	}
	cfg.Sources = append([]streamwatch.Source(nil), cfg.Sources...)
	for i := range cfg.Sources {
		s := &cfg.Sources[i]
		if s.Fetcher == nil {
			continue // streamwatch.New says that it is missing
		}
		s.Roles = s.Roles.Or(fetcher.RolesOf(s.Fetcher))
		s.Fetcher = taped{s.Fetcher, r}
	}
	return cfg
}

// Stats tells what a Recorder has.
type Stats struct {
	Records int // in the ring
	Bytes   int // of them, by estimate
	Lost    int // records that gave way to newer ones
}

// Stats returns what the ring has now.
func (r *Recorder) Stats() Stats {
	r.mu.Lock()
	defer r.mu.Unlock()
	return Stats{Records: len(r.ring) - r.head, Bytes: r.bytes, Lost: r.lost}
}

// taped is a Fetcher that brings a Recorder along: see poll.TapeOf.
type taped struct {
	fetcher.Fetcher
	r *Recorder
}

// Tape returns what records the polls of the Fetcher.
func (t taped) Tape() poll.Tape { return tape{t.r} }

// tape is a Recorder as a poll.Tape.
type tape struct{ r *Recorder }

func (t tape) Ended(p *poll.Record) {
	t.r.add(entry{poll: p, bytes: sizeOf(p)})
	if p.Opened != nil && p.Unstored == nil {
		t.r.opened()
	}
	t.r.notice(p.Env)
}

func (t tape) Released(e *poll.Env, key string) {
	t.r.add(entry{released: &released{e, key}, bytes: int(unsafe.Sizeof(entry{})) + 64})
}

// add puts an entry into the ring, and lets the oldest give way.
func (r *Recorder) add(e entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.head > 0 && len(r.ring) == cap(r.ring) && r.head >= len(r.ring)/2 {
		n := copy(r.ring, r.ring[r.head:])
		clear(r.ring[n:])
		r.ring, r.head = r.ring[:n], 0
	}
	r.ring = append(r.ring, e)
	r.bytes += e.bytes
	for r.bytes > r.opts.Bytes && r.head < len(r.ring)-1 {
		r.bytes -= r.ring[r.head].bytes
		r.ring[r.head] = entry{}
		r.head++
		r.lost++
	}
}

// entries returns the entries from number from on, as far as the ring still has them, and the
// number of the first. Entries are numbered from 0 in the order in which they were added.
func (r *Recorder) entries(from int) (all []entry, first int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	first = max(from, r.lost)
	return append(all, r.ring[r.head+first-r.lost:]...), first
}

// sizeOf estimates how many bytes a record keeps from being freed.
func sizeOf(p *poll.Record) int {
	n := int(unsafe.Sizeof(*p)+unsafe.Sizeof(entry{})) + p.Window.Size()
	n += len(p.Before.Readers)*int(unsafe.Sizeof(poll.ReaderState{})) + len(p.Judging)*int(unsafe.Sizeof(poll.ReaderState{}))
	n += len(p.Refused)*int(unsafe.Sizeof(poll.Refusal{})) + sizeOfGaps(p.Before.Gaps) + sizeOfGaps(p.Filled)
	for _, g := range []*poll.Gap{p.Opened, p.Fills} {
		if g != nil {
			n += int(unsafe.Sizeof(*g)) + len(g.Resume)
		}
	}
	if c := p.Cursor; c != nil {
		n += int(unsafe.Sizeof(*c)) + sizeOfGaps(c.Gaps)
	}
	if is := p.Before.Search; is != nil {
		n += int(unsafe.Sizeof(*is)) + 48*len(is.Shown)
	}
	if r := p.Recalled; r != nil {
		n += int(unsafe.Sizeof(*r)) + len(r.Known)*int(unsafe.Sizeof(poll.Recall{}))
	}
	for i := range p.Answers {
		pg := &p.Answers[i].Page
		n += int(unsafe.Sizeof(*pg)) + len(pg.Tweets)*int(unsafe.Sizeof(fetcher.Tweet{}))
		for k := range pg.Tweets {
			tw := &pg.Tweets[k]
			n += len(tw.Text) + len(tw.FullText) + 512*len(tw.Media) + 256*(len(tw.URLs)+len(tw.UserMentions)+len(tw.Hashtags)) + 128
			if tw.User != nil {
				n += 1024
			}
		}
	}
	for i := range p.Events {
		n += int(unsafe.Sizeof(deliver.Event{})) + len(p.Events[i].Body)
	}
	return n
}

func sizeOfGaps(gaps []poll.Gap) (n int) {
	for i := range gaps {
		n += int(unsafe.Sizeof(gaps[i])) + len(gaps[i].Resume)
	}
	return n
}
