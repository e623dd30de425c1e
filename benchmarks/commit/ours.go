package main

import (
	"fmt"
	"strconv"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/record"
	"github.com/streamwatch/streamwatch/storage"
)

const (
	owner    = "acme"
	sources  = 10   // monitors that the accounts are watched by
	accounts = 1000 // that posts are found of
	bodySize = 1 << 10
)

// group is the records of one commit, number from, from+1, ….
type group struct {
	ids    []string
	bodies [][]byte
	events []deliver.Event
}

// text is the source of the bodies, which all differ.
var text = func() []byte {
	t := make([]byte, 1<<16)
	state := uint32(1)
	for i := range t {
		state = state*1664525 + 1013904223
		t[i] = 'a' + byte(state>>24)%26
	}
	return t
}()

func newGroup(from, size int) *group {
	g := new(group)
	now := time.Now()
	for n := from; n < from+size; n++ {
		at := n * 977 % (len(text) - bodySize)
		tweet := strconv.FormatInt(1_900_000_000_000_000_000+int64(n)<<22, 10) // ids by time, a post every millisecond
		src := source(n % sources)
		ev := deliver.Event{
			ID: deliver.EventID(src.ID, tweet), Source: src, TweetID: tweet,
			AuthorUsername: account(n), TextPreview: string(text[at : at+100]), TweetURL: "https://x.com/" + account(n) + "/status/" + tweet,
			PublishedAt: now.Add(-2 * time.Second), EarliestAt: now.Add(-time.Second), RequestedAt: now, FetchedAt: now, DetectedAt: now,
			Latency: 2 * time.Second, Body: text[at : at+bodySize],
		}
		g.ids = append(g.ids, ev.ID)
		g.bodies = append(g.bodies, ev.Body)
		g.events = append(g.events, ev)
	}
	return g
}

// account names one of those polled; neighbours in a group are none by name.
func account(n int) string { return fmt.Sprintf("account%04d", n*617%accounts) }

func source(i int) deliver.Source {
	return deliver.Source{Kind: deliver.SourceMonitor, ID: fmt.Sprintf("mon_%012d", i), Owner: owner, Name: fmt.Sprint("monitor ", i)}
}

// way is how a group is given to Commit.
type way struct {
	name     string
	endpoint bool
}

var ways = []way{
	{name: "polls"},
	{name: "polls, an endpoint", endpoint: true},
}

func (w way) batches(g *group) (batches []*detect.Batch) {
	now := time.Now()
	due := now.Add(45 * time.Second) // as the engine has it
	cursor := func(ev *deliver.Event) *detect.Cursor {
		return &detect.Cursor{Target: ev.AuthorUsername, Since: now, UserID: "44196397"}
	}
	for i := range g.events {
		batches = append(batches, &detect.Batch{Cursor: cursor(&g.events[i]), Events: g.events[i : i+1], DeliverBy: due})
	}
	return batches
}

// ours is our store.
type ours struct {
	store storage.Store
	way   way
	open  []deliver.Delivery
}

func newOurs(s storage.Store, w way) (*ours, error) {
	for i := 0; w.endpoint && i < sources; i++ {
		ep, err := deliver.Endpoint{
			ID: fmt.Sprintf("wh_%012d", i), Source: source(i), URL: "https://hooks.example.com/posts",
			Secret: "whsec_of_the_benchmark", Status: deliver.EndpointActive,
		}.Record()
		if err == nil {
			_, err = s.Ports().Records.Apply(background, record.Change{Put: []record.Record{ep}})
		}
		if err != nil {
			return nil, err
		}
	}
	return &ours{store: s, way: w}, nil
}

func (o *ours) write(g *group) error {
	batches := o.way.batches(g)
	if err := o.store.Ports().Journal.Commit(background, batches); err != nil {
		return err
	}
	for _, b := range batches {
		o.open = append(o.open, b.Deliveries...)
	}
	return nil
}

// rest settles the deliveries, as many at a time as the dispatcher does.
func (o *ours) rest() error {
	const most = 1024
	if len(o.open) < most {
		return nil
	}
	var ss []deliver.Settlement
	for _, d := range o.open {
		ss = append(ss, delivered(d.ID))
	}
	o.open = nil
	return o.store.Ports().Outbox.Settle(background, ss...)
}

// delivered is the outcome of a delivery by its first attempt.
func delivered(id string) deliver.Settlement {
	return deliver.Settlement{
		DeliveryID: id, State: deliver.StateDelivered,
		Attempt: &deliver.Attempt{N: 1, At: time.Now(), Duration: 50 * time.Millisecond, StatusCode: 200},
	}
}

// stored goes by the sequence numbers, which are without holes.
func (o *ours) stored() (n int, err error) {
	for {
		evs, err := o.store.Ports().Log.Events(background, owner, uint64(n), 1000)
		if err != nil || len(evs) == 0 {
			return n, err
		}
		n = int(evs[len(evs)-1].Seq)
	}
}

func (o *ours) close() error { return o.store.Close(background) }
