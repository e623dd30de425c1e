package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/webhook"
	"github.com/streamwatch/streamwatch/deliver/wshub"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/secret"
	"github.com/streamwatch/streamwatch/storage"
)

// delays are how long what happens on one node takes to have its effect on another.
type delays struct {
	Made   []time.Duration // from a monitor's creation through one node to its first poll by another
	Frame  []time.Duration // from a commit on one node to the frame of another's client
	Hook   []time.Duration // from a commit on one node to the request that another sends
	Paused []time.Duration // how long a node takes to pause a monitor
	Late   int             // events that any node committed for a monitor after it was paused
}

// stage is two nodes with a client each, and notes what they do.
type stage struct {
	mu        sync.Mutex
	polled    map[string]string    // by account: which node has polled it first
	polledAt  map[string]time.Time // and when
	committed map[string]string    // by post: which node
	at        map[string]time.Time // and when
	paused    map[string]bool      // monitors
	delays    delays
}

// side is one of the nodes: its platform, and its way to the receiver.
type side struct {
	*stage
	name   string
	store  storage.Store
	engine *streamwatch.Engine
}

// Timeline has a new post one time in ten.
func (s *side) Timeline(_ context.Context, q fetcher.TimelineQuery) (fetcher.Page, error) {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.polled[q.Username] == "" {
		s.polled[q.Username], s.polledAt[q.Username] = s.name, now
	}
	page := fetcher.Page{OldestAt: now.Add(-24 * time.Hour), UserID: q.Username}
	if rand.IntN(10) == 0 {
		id := strconv.FormatUint(fetcher.SnowflakeAt(now)+rand.Uint64N(1<<22), 10)
		page.Tweets = []fetcher.Tweet{{ID: id, Username: q.Username, UserID: q.Username, Text: "a post", FullText: "a post", PublishedAt: now, CreatedAt: fetcher.FormatTime(now)}}
	}
	return page, nil
}

// watch notes what the node commits.
func (s *side) watch(events []deliver.Event) {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range events {
		e := &events[i]
		s.committed[e.TweetID], s.at[e.TweetID] = s.name, now
		if s.paused[e.Source.ID] {
			s.delays.Late++
		}
	}
}

// RoundTrip is the receiver, of what the node sends.
func (s *side) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	post, err := deliver.ParseBody(body)
	if err != nil {
		return nil, err
	}
	s.came(post.TweetID, &s.delays.Hook)
	return &http.Response{StatusCode: http.StatusNoContent, ProtoMajor: 1, ProtoMinor: 1, Body: http.NoBody, Request: r}, nil
}

// came notes the time since a commit on the other node.
func (s *side) came(post string, to *[]time.Duration) {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if by := s.committed[post]; by != "" && by != s.name {
		*to = append(*to, now.Sub(s.at[post]))
	}
}

// follow is a WebSocket client of the node.
func (s *side) follow(ctx context.Context, url string) error {
	ws, _, err := websocket.Dial(ctx, url, &websocket.DialOptions{HTTPHeader: http.Header{"X-Api-Key": {"key"}}})
	if err != nil {
		return err
	}
	defer ws.CloseNow()
	ws.SetReadLimit(1 << 20)
	for {
		_, b, err := ws.Read(ctx)
		if err != nil {
			return err
		}
		var f struct {
			Type    string
			TweetID string `json:"tweet_id"`
		}
		if err := json.Unmarshal(b, &f); err != nil {
			return err
		}
		if f.Type == "tweet" {
			s.came(f.TweetID, &s.delays.Frame)
		}
	}
}

// measureDelays runs two nodes, which poll and send for each other.
func measureDelays(open func(string) (storage.Store, error)) (d delays, err error) {
	const interval, monitors = 200 * time.Millisecond, 200
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	st := &stage{polled: map[string]string{}, polledAt: map[string]time.Time{}, committed: map[string]string{}, at: map[string]time.Time{}, paused: map[string]bool{}}
	sides := []*side{{stage: st, name: "a"}, {stage: st, name: "b"}}
	var clients sync.WaitGroup
	defer func() {
		cancel()
		clients.Wait()
		for _, s := range sides {
			if s.engine != nil {
				end, stop := context.WithTimeout(context.Background(), 20*time.Second)
				err = errors.Join(err, s.engine.Shutdown(end))
				stop()
			}
			if s.store != nil {
				err = errors.Join(err, s.store.Close(context.Background()))
			}
		}
	}()
	for _, s := range sides {
		if s.store, err = open("delays"); err != nil {
			return d, err
		}
		e, err := streamwatch.New(streamwatch.Config{
			Fetcher: s, Store: s.store, MinInterval: interval, Webhook: webhook.Config{Transport: s},
			WebSocket: &wshub.Options{Authenticate: func(context.Context, secret.Value) (wshub.Identity, error) {
				return wshub.Identity{KeyID: "k", Owner: "o"}, nil
			}},
			Fleet: &streamwatch.FleetConfig{Name: s.name, Lease: 4 * time.Second},
		})
		if err != nil {
			return d, err
		}
		e.Watch(s.watch)
		if err := e.Start(ctx); err != nil {
			return d, err
		}
		s.engine = e
	}
	for sides[0].engine.Stats().Fleet.Parts != fleet.Parts/2 || sides[1].engine.Stats().Fleet.Parts != fleet.Parts/2 {
		if err := wait(ctx, 50*time.Millisecond); err != nil {
			return d, err
		}
	}
	for _, s := range sides {
		server := httptest.NewServer(s.engine.WebSocket())
		defer server.Close()
		clients.Go(func() { _ = s.follow(ctx, server.URL) })
	}
	var made []monitor.Monitor
	for i := range monitors {
		s, account := sides[i%2], fmt.Sprintf("account%d", i)
		begun := time.Now()
		m, err := s.engine.Monitors().Create(ctx, monitor.CreateRequest{Owner: "o", Name: account, Usernames: []string{account}, PollInterval: interval,
			WebhookURL: "https://hooks.example.com/x"})
		if err != nil {
			return d, err
		}
		made = append(made, m.Monitor)
		if err := wait(ctx, 50*time.Millisecond); err != nil {
			return d, err
		}
		st.mu.Lock()
		if by := st.polled[account]; by != "" && by != s.name {
			st.delays.Made = append(st.delays.Made, st.polledAt[account].Sub(begun))
		}
		st.mu.Unlock()
	}
	if err := wait(ctx, 10*time.Second); err != nil {
		return d, err
	}
	for i, m := range made {
		begun := time.Now()
		if _, err := sides[i%2].engine.Monitors().Pause(ctx, "o", m.ID); err != nil {
			return d, err
		}
		st.mu.Lock()
		st.paused[m.ID] = true
		st.delays.Paused = append(st.delays.Paused, time.Since(begun))
		st.mu.Unlock()
	}
	err = wait(ctx, 2*time.Second)
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.delays, err
}

// quantile of durations, in milliseconds.
func quantile(of []time.Duration, q float64) float64 {
	if len(of) == 0 {
		return 0
	}
	slices.Sort(of)
	return float64(of[min(len(of)-1, int(q*float64(len(of))))]) / 1e6
}
