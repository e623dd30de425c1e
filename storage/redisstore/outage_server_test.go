package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/streamwatch/streamwatch/storage/redisstore"
	"github.com/streamwatch/streamwatch/storage/redisstore/internal/redistest"
)

// A master that was made a replica refuses writes. The store tries again for RetryFor,
// until the server is a master again.
func TestServerReadOnly(t *testing.T) {
	server := redistest.Single(t)
	const retryFor = 3 * time.Second
	s := openServer(t, server.Addr(), redisstore.Options{RetryFor: retryFor})
	payIn(t, s, "acme", 100)
	need(t, commitOne(t.Context(), s, "acme", "1"))

	// There is no server at the address of the new master, so that it keeps its data.
	server.Do("REPLICAOF", "127.0.0.1", "1")
	result := make(chan error, 1)
	go func() { result <- commitOne(t.Context(), s, "acme", "2") }()
	redistest.Until(t, retryFor, "the store tries again", func() bool { return s.Stats().Retries > 1 })
	server.Do("REPLICAOF", "NO", "ONE")
	if err := <-result; err != nil {
		t.Errorf("the server was a replica for a while: %v", err)
	}

	server.Do("REPLICAOF", "127.0.0.1", "1")
	began := time.Now()
	err := commitOne(t.Context(), s, "acme", "3")
	if err == nil || !strings.Contains(err.Error(), "READONLY") || errors.Is(err, redisstore.ErrUnknown) {
		t.Errorf("a replica for good: %v, want what the server says, which is no unknown outcome", err)
	}
	if took := time.Since(began); took < retryFor/2 || took > retryFor+2*time.Second {
		t.Errorf("it was tried for %v, want %v", took, retryFor)
	}
	server.Do("REPLICAOF", "NO", "ONE")
	need(t, commitOne(t.Context(), s, "acme", "3"))
	committedOnce(t, s, "acme", 100, map[string]bool{"1": true, "2": true, "3": true})
}

// A server that was restarted answers LOADING while it reads its data.
func TestServerLoading(t *testing.T) {
	// 300 µs for each command, some two seconds for those below. The server answers its
	// clients after every 1,024 commands.
	server := redistest.Single(t, "key-load-delay 300")
	s := openServer(t, server.Addr(), redisstore.Options{RetryFor: 20 * time.Second})
	payIn(t, s, "acme", 100)
	need(t, commitOne(t.Context(), s, "acme", "1"))
	pipe := server.Client().Pipeline()
	for i := range 6000 {
		pipe.Set(t.Context(), fmt.Sprint("other ", i), i, 0)
	}
	_, err := pipe.Exec(t.Context())
	need(t, err)

	server.Kill()
	server.Launch()
	redistest.Until(t, 20*time.Second, "the server says that it loads", func() bool {
		err := server.Client().Get(t.Context(), "other 0").Err()
		if err == nil { // it had read all before it was asked
			server.Kill()
			server.Launch()
		}
		return redis.HasErrorPrefix(err, "LOADING")
	})
	need(t, commitOne(t.Context(), s, "acme", "2"))
	if s.Stats().Retries == 0 {
		t.Error("no call was tried again: the server did not answer LOADING to the store")
	}
	committedOnce(t, s, "acme", 100, map[string]bool{"1": true, "2": true})
}

// Emptying the server's script cache disturbs no call.
func TestServerScriptFlush(t *testing.T) {
	server := redistest.Single(t)
	s := openServer(t, server.Addr(), redisstore.Options{})
	payIn(t, s, "acme", 100_000)
	stop, flushed := make(chan struct{}), make(chan int)
	go func() {
		n := 0
		for {
			select {
			case <-stop:
				flushed <- n
				return
			default:
				if err := server.Client().ScriptFlush(context.Background()).Err(); err != nil {
					t.Errorf("SCRIPT FLUSH: %v", err)
				}
				n++
			}
		}
	}()
	const workers, each = 4, 100
	tweets := map[string]bool{}
	for g := range workers {
		for i := range each {
			tweets[fmt.Sprint(g, "-", i)] = true
		}
	}
	var group sync.WaitGroup
	for g := range workers {
		group.Go(func() {
			for i := range each {
				if err := commitOne(t.Context(), s, "acme", fmt.Sprint(g, "-", i)); err != nil {
					t.Errorf("commit: %v", err)
				}
			}
		})
	}
	group.Wait()
	close(stop)
	if n := <-flushed; n < 20 {
		t.Errorf("the scripts were flushed %d times: the test shows little", n)
	}
	committedOnce(t, s, "acme", 100_000, tweets)
}

// With appendfsync always, what was acknowledged survives when the server is killed, and
// what was not is there once after it was repeated.
func TestServerRestart(t *testing.T) {
	server := redistest.Single(t, "appendfsync always")
	s := openServer(t, server.Addr(), redisstore.Options{RetryFor: 20 * time.Second})
	const workers, rounds = 4, 3
	payIn(t, s, "acme", 100_000)
	for round := range rounds {
		var mu sync.Mutex
		acknowledged := map[string]bool{}
		stop := make(chan struct{})
		var group sync.WaitGroup
		for g := range workers {
			group.Go(func() {
				for i := 0; ; i++ {
					select {
					case <-stop:
						return
					default:
					}
					tweet := fmt.Sprintf("%d-%d-%d", round, g, i)
					if err := commitOne(t.Context(), s, "acme", tweet); err != nil {
						t.Errorf("commit: %v", err)
						return
					}
					mu.Lock()
					acknowledged[tweet] = true
					mu.Unlock()
				}
			})
		}
		count := func() int {
			mu.Lock()
			defer mu.Unlock()
			return len(acknowledged)
		}
		redistest.Until(t, 20*time.Second, "commits are acknowledged", func() bool { return count() >= 50 })
		server.Restart()
		before := count()
		redistest.Until(t, 20*time.Second, "commits go on after the restart", func() bool { return count() >= before+50 })
		close(stop)
		group.Wait()
		committedOnce(t, s, "acme", 100_000, acknowledged)
	}
}

// If the server hangs, calls end with their contexts, and the store recovers soon after.
func TestServerHangs(t *testing.T) {
	server := redistest.Single(t)
	s := openServer(t, server.Addr(), redisstore.Options{})
	payIn(t, s, "acme", 100_000)
	tweets := map[string]bool{"before": true, "after": true}
	need(t, commitOne(t.Context(), s, "acme", "before"))
	baseline := runtime.NumGoroutine()

	const patience, callers, more, lasts = 400 * time.Millisecond, 50, 50, 5 * time.Second
	server.Pause()
	began := time.Now()
	var slowest time.Duration
	most, made := 0, 0
	for time.Since(began) < lasts {
		errs, took := make([]error, callers), make([]time.Duration, callers)
		var group sync.WaitGroup
		for i := range callers {
			tweet := fmt.Sprint("during", made+i)
			tweets[tweet] = true
			group.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				asked := time.Now()
				errs[i] = commitOne(ctx, s, "acme", tweet)
				took[i] = time.Since(asked)
			})
		}
		group.Wait()
		most = max(most, runtime.NumGoroutine())
		made += callers
		for i, err := range errs {
			slowest = max(slowest, took[i])
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("a call without an answer: %v, want the end of its context", err)
			}
		}
	}
	server.Resume()
	if slowest > patience+time.Second {
		t.Errorf("a call with a patience of %v took %v", patience, slowest)
	}
	if most > baseline+more {
		t.Errorf("%d goroutines after %d calls, %d before: want at most %d more", most, made, baseline, more)
	}

	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	for err := errors.New("not asked"); err != nil; {
		if err = commitOne(ctx, s, "acme", "after"); err != nil && ctx.Err() != nil {
			t.Fatalf("no recovery within 5 s: %v", err)
		}
	}
	// Calls without an answer may have taken effect late; repeated, they have done so once.
	for tweet := range tweets {
		need(t, commitOne(t.Context(), s, "acme", tweet))
	}
	committedOnce(t, s, "acme", 100_000, tweets)
	if n := s.Stats().Mixups; n != 0 {
		t.Errorf("%d answers went to another call", n)
	}
}
