package simulation

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule"
	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// pushWorld is a platform with a stream, and the engines that watch it one after the
// other on one store. It keeps its own record of what the stream brought and what the
// handler got.
type pushWorld struct {
	t        *testing.T
	rng      *rand.Rand
	names    []string
	platform *enginetest.Platform
	stream   *enginetest.PlatformStreamer
	store    *memory.Store
	lag      time.Duration // the stream's
	interval time.Duration // between two polls of an account, without the stream
	created  bool
	rules    bool // and no monitor: the stream is one of queries

	engine *streamwatch.Engine // the one that runs, and
	life   *life               // what it shares with the store

	mu        sync.Mutex
	got       map[string][]time.Time // when a post was handled, by id
	brought   map[string]time.Time   // when the stream brought a post first
	order     []broughtPost          // what it brought since it left something out, beyond the position that is stored
	recorded  map[string]bool        // posts with an event in the store
	positions int                    // that were stored
}

type broughtPost struct {
	at int // its position
	id string
}

// newPushWorld must be called in a bubble.
func newPushWorld(t *testing.T, accounts int, cfg enginetest.StreamConfig) *pushWorld {
	w := &pushWorld{t: t, rng: rand.New(rand.NewPCG(5, 6)), names: enginetest.AccountNames(accounts), lag: cfg.Lag, interval: 5 * time.Minute,
		store: memory.New(memory.Options{}), got: map[string][]time.Time{}, brought: map[string]time.Time{}, recorded: map[string]bool{}}
	// Pages are small, so that polls have to read back for what they look for.
	w.platform = enginetest.NewPlatform(enginetest.PlatformConfig{Seed: 7, Accounts: w.names, PageSize: 5, LateShare: 0.1, Latency: 20 * time.Millisecond})
	w.stream = w.platform.Streamer(cfg)
	return w
}

// audit is how often an account is polled while the stream is trusted.
const audit = 30 * time.Minute

// begin starts an engine.
func (w *pushWorld) begin() {
	w.life = &life{Store: w.store, w: w, rng: rand.New(rand.NewPCG(uint64(len(w.got)), 8))}
	roles := fetcher.Roles{Stream: watchedStream{w}}
	if w.rules {
		roles = fetcher.Roles{SearchStream: watchedStream{w}}
	}
	w.engine = newEngine(w.t, streamwatch.Config{
		Fetcher: w.platform, Roles: roles, Store: w.life, OnEvent: w.handle,
		// Polls look no further back than posts are late by themselves.
		Detect: detect.Config{Shards: 2, AuditEvery: audit, MaxPages: 30, Overlap: 15 * time.Second, MaxOverlap: 15 * time.Second},
	})
	if err := w.engine.Start(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	if !w.created {
		w.created = true
		if w.rules {
			w.createRules()
		} else {
			create(w.t, w.engine, monitor.CreateRequest{Name: "m", Usernames: w.names, PollInterval: w.interval})
		}
		pass(2 * w.interval) // every account is polled
	}
}

// kill ends the engine as a kill does: nothing it does reaches the store any more.
func (w *pushWorld) kill() {
	w.life.kill()
	ctx, cancel := context.WithCancel(w.t.Context())
	cancel()
	if err := w.engine.Shutdown(ctx); err != nil && !errors.Is(err, context.Canceled) {
		w.t.Error(err)
	}
}

// post lets about so much time pass and has one of the accounts post.
func (w *pushWorld) post(mean time.Duration) {
	pass(time.Duration(w.rng.ExpFloat64() * float64(mean)))
	w.platform.Post(w.names[w.rng.IntN(len(w.names))], "a post about "+topics[w.rng.IntN(len(topics))])
}

// topics are what posts are about, each one of them.
var topics = []string{"moon", "sun", "mars", "venus"}

// createRules makes a rule for each topic.
func (w *pushWorld) createRules() {
	for _, topic := range topics {
		if _, err := w.engine.Rules().Create(w.t.Context(), rule.CreateRequest{Tag: topic, Query: topic, Interval: w.interval, MaxResults: 100}); err != nil {
			w.t.Fatal(err)
		}
	}
}

// end waits until all is found, and stops the engine.
func (w *pushWorld) end() {
	w.stream.SetFaults(enginetest.StreamFaults{})
	pass(2 * audit)
	if err := w.engine.Shutdown(w.t.Context()); err != nil {
		w.t.Error(err)
	}
}

func (w *pushWorld) handle(_ context.Context, e deliver.Event) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.got[e.TweetID] = append(w.got[e.TweetID], time.Now())
	return nil
}

// check wants every post once, within a time, and half of them lag + 250 ms after they
// could be seen. It returns how many the stream did not bring.
func (w *pushWorld) check(within time.Duration) (posts, missed int) {
	lost, doubled, late := 0, 0, 0
	var took []time.Duration
	truth := w.platform.Posted()
	for _, post := range truth {
		got := w.got[post.ID]
		if w.brought[post.ID].IsZero() {
			missed++
		}
		switch {
		case len(got) == 0:
			lost++
			continue
		case len(got) > 1:
			doubled++
		}
		d := got[0].Sub(post.VisibleAt)
		took = append(took, d)
		if d > within {
			if late++; late < 4 {
				w.t.Errorf("the post of %s was found after %s: want %s at most", post.VisibleAt.Format(time.TimeOnly), d, within)
			}
		}
	}
	if lost+doubled+late > 0 || len(w.got) != len(truth)-lost {
		w.t.Errorf("of %d posts %d were lost, %d doubled, %d late; %d handled", len(truth), lost, doubled, late, len(w.got))
	}
	slices.Sort(took)
	p50, p99 := took[len(took)/2], took[len(took)*99/100]
	if p50 > w.lag+250*time.Millisecond {
		w.t.Errorf("half of the posts were found within %s: want %s", p50, w.lag+250*time.Millisecond)
	}
	w.t.Logf("%d posts, %d of them not by the stream; found after %s (p50), %s (p99), %s at most", len(truth), missed, p50, p99, took[len(took)-1])
	return len(truth), missed
}

// watchedStream is the stream, with a record of what it brings.
type watchedStream struct{ w *pushWorld }

func (s watchedStream) Brings(t *fetcher.Tweet) bool { return s.w.stream.Brings(t) }

func (s watchedStream) Stream(ctx context.Context, q fetcher.StreamQuery, emit func(fetcher.Signal) error) error {
	w := s.w
	if w.rules && q.Position != "" && len(q.Queries) < len(topics) {
		w.t.Errorf("resumes at %s for %d queries, want all %d", q.Position, len(q.Queries), len(topics))
	}
	return w.stream.Stream(ctx, q, func(sig fetcher.Signal) error {
		if sig.Kind == fetcher.SignalUp && sig.Position != q.Position {
			w.mu.Lock()
			w.order = nil // what was brought before is not brought again: polls find it
			w.mu.Unlock()
		}
		if sig.Kind == fetcher.SignalPost {
			w.mu.Lock()
			if w.brought[sig.Post.ID].IsZero() {
				w.brought[sig.Post.ID] = time.Now()
			}
			w.order = append(w.order, broughtPost{w.at(sig.Position), sig.Post.ID})
			w.mu.Unlock()
		}
		return emit(sig)
	})
}

// at is where in the stream a position is.
func (w *pushWorld) at(position string) (n int) {
	if position == "" {
		return 0
	}
	if _, err := fmt.Sscanf(position[strings.LastIndexByte(position, '.')+1:], "%d", &n); err != nil {
		w.t.Error(err)
	}
	return n
}

// life is the store as one engine sees it, until it is killed. Commits take their
// time, so that a kill may come before and after they took effect.
type life struct {
	storage.Store
	w *pushWorld

	mu   sync.Mutex
	rng  *rand.Rand
	dead bool
}

func (l *life) Ports() storage.Ports {
	p := l.Store.Ports()
	p.Journal = lifeJournal{p.Journal, l}
	p.Outbox = lifeOutbox{p.Outbox, l}
	return p
}

func (l *life) kill() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dead = true
}

var errKilled = errors.New("the process was killed")

func (l *life) alive() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dead {
		return errKilled
	}
	return nil
}

func (l *life) pause() {
	l.mu.Lock()
	d := time.Duration(l.rng.Int64N(int64(40 * time.Millisecond)))
	l.mu.Unlock()
	<-time.After(d)
}

type lifeJournal struct {
	detect.Journal
	l *life
}

func (j lifeJournal) Commit(ctx context.Context, bs []*detect.Batch) error {
	j.l.pause()
	if err := j.l.alive(); err != nil {
		return err
	}
	if err := j.Journal.Commit(ctx, bs); err != nil {
		return err
	}
	j.l.w.committed(bs)
	j.l.pause()
	return j.l.alive()
}

// committed wants the posts up to a position to be in the store with it.
func (w *pushWorld) committed(bs []*detect.Batch) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, b := range bs {
		for i := range b.Events {
			w.recorded[b.Events[i].TweetID] = true
		}
	}
	for _, b := range bs {
		if b.Cursor == nil || b.Cursor.Position == "" {
			continue
		}
		w.positions++
		at := w.at(b.Cursor.Position)
		w.order = slices.DeleteFunc(w.order, func(p broughtPost) bool {
			if p.at <= at && !w.recorded[p.id] {
				w.t.Errorf("position %d is stored, and the post %s at %d is not", at, p.id, p.at)
			}
			return p.at <= at
		})
	}
}

type lifeOutbox struct {
	deliver.Outbox
	l *life
}

func (o lifeOutbox) Claim(ctx context.Context, r deliver.ClaimRequest) ([]deliver.Delivery, error) {
	if err := o.l.alive(); err != nil {
		return nil, err
	}
	return o.Outbox.Claim(ctx, r)
}

func (o lifeOutbox) Settle(ctx context.Context, ss ...deliver.Settlement) error {
	if err := o.l.alive(); err != nil {
		return err
	}
	return o.Outbox.Settle(ctx, ss...)
}
