package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/enginetest"
)

// What the platform is like.
const (
	accounts   = 12
	pageSize   = 10 // posts
	postsEvery = tempo * 25 * time.Millisecond
	lateUpTo   = 1500 * time.Millisecond // from publication until readers see a post
	overlap    = 4 * time.Second         // how far the engine looks back: well above lateUpTo
)

// world is what surrounds the child: a platform on which people post, and a receiver. It continues
// when the child dies.
type world struct {
	names       []string
	platform    *enginetest.Platform
	receiver    *receiver
	platformURL string
	receiverURL string

	mu    sync.Mutex
	began map[string]time.Time // time of the first request of each process, by its user agent
	polls map[string]int       // good answers since watchPolls, by path
	there map[string]time.Time // when the platform had a post at the latest, by id

	ending sync.WaitGroup
	end    []func()
}

func newWorld(seed uint64) (*world, error) {
	names := accountNames()
	w := &world{
		names: names, receiver: newReceiver(seed), began: make(map[string]time.Time), there: make(map[string]time.Time),
		platform: enginetest.NewPlatform(enginetest.PlatformConfig{
			Seed: seed, Accounts: names, PageSize: pageSize,
			Faults: enginetest.Faults{ServerError: 0.01, Truncated: 0.01, HTML: 0.005, NullFields: 0.005, WrongAuthor: 0.005},
		}),
	}
	var err error
	if w.platformURL, err = w.serve(w.watched(w.platform.Handler())); err == nil {
		w.receiverURL, err = w.serve(w.receiver)
	}
	if err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

// serve listens on loopback until close.
func (w *world) serve(h http.Handler) (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	srv := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	w.ending.Go(func() {
		if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			panic(fmt.Sprintf("crashtest: %v", err))
		}
	})
	w.end = append(w.end, func() { srv.Close() })
	return "http://" + l.Addr().String(), nil
}

func (w *world) close() {
	for _, end := range w.end {
		end()
	}
	w.ending.Wait()
}

// watched records which processes ask the platform, and how often each account is read.
func (w *world) watched(h http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		w.noteLife(req.UserAgent())
		h.ServeHTTP(rw, req)
		if strings.HasSuffix(req.URL.Path, "/statuses") && !req.URL.Query().Has("max_id") {
			w.mu.Lock()
			defer w.mu.Unlock()
			if w.polls != nil {
				w.polls[req.URL.Path]++
			}
		}
	})
}

func (w *world) noteLife(agent string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, ok := w.began[agent]; !ok {
		w.began[agent] = time.Now()
	}
}

// firstPoll is when a process first asked the platform.
func (w *world) firstPoll(life int) (time.Time, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	at, ok := w.began[lifeAgent(life)]
	return at, ok
}

// watchPolls begins to count polls.
func (w *world) watchPolls() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.polls = make(map[string]int)
}

// polled reports whether every account was read at least n times since watchPolls.
func (w *world) polled(n int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	enough := 0
	for _, count := range w.polls {
		if count >= n {
			enough++
		}
	}
	return enough == accounts
}

// post publishes posts at random moments until ctx ends. Some become visible late, some have an
// earlier date, and sometimes there is a burst of more than a page.
func (w *world) post(ctx context.Context, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 2))
	timer := time.NewTimer(0)
	defer timer.Stop()
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		now := time.Now()
		name, published, visible := w.names[r.IntN(len(w.names))], now, time.Time{}
		switch chance := r.Float64(); {
		case chance < 0.25:
			visible = now.Add(time.Duration(r.Int64N(int64(lateUpTo))))
		case chance < 0.30:
			published, visible = now.Add(-time.Duration(r.Int64N(int64(lateUpTo)))), now
		case chance < 0.31:
			for i := range pageSize + pageSize/2 {
				w.publish(name, fmt.Sprintf("post %d of a burst, %d", n, i), now, time.Time{})
			}
		}
		w.publish(name, fmt.Sprintf("post %d", n), published, visible)
		timer.Reset(time.Duration(r.ExpFloat64() * float64(postsEvery)))
	}
}

// publish publishes a post, and records when the platform had it. That is a little later than the
// time in the post.
func (w *world) publish(name, text string, published, visible time.Time) {
	id := w.platform.PostAt(name, text, published, visible).ID
	w.mu.Lock()
	defer w.mu.Unlock()
	w.there[id] = time.Now()
}

// shown returns the posts that readers could see until now.
func (w *world) shown() []post {
	truths := w.platform.Posted()
	shown := make([]post, len(truths))
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, t := range truths {
		shown[i] = post{Account: t.Account, ID: t.ID, Published: t.PublishedAt, Visible: t.VisibleAt}
		at, ok := w.there[t.ID]
		if !ok { // it is being published at this moment
			at = time.Now()
		}
		if at.After(t.VisibleAt) {
			shown[i].Visible = at
		}
	}
	return shown
}

func accountNames() []string { return enginetest.AccountNames(accounts) }
