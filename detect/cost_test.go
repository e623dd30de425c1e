package detect

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/internal/heard"
)

// priced is a world that charges for each post that it returns and the caller does not
// know, for each account that is probed, and for each post that is pushed.
type priced struct {
	*world
	probes int
}

func (p *priced) Timeline(ctx context.Context, q fetcher.TimelineQuery) (fetcher.Page, error) {
	pg, err := p.world.Timeline(ctx, q)
	for i := range pg.Tweets {
		if q.Seen == nil || !q.Seen(pg.Tweets[i].ID) {
			pg.Billed.Posts++
		}
	}
	return pg, err
}

// probed is how many calls of Probe there were.
func (p *priced) probed() (n int) {
	p.do(func() { n = p.probes })
	return n
}

func (p *priced) ProbeLimit() int { return 100 }
func (p *priced) Probe(_ context.Context, accounts []fetcher.Account) (fetcher.Probe, error) {
	p.do(func() { p.probes++ })
	return fetcher.Probe{Marks: make([]fetcher.Mark, len(accounts)), Billed: fetcher.Billed{Users: int64(len(accounts))}}, nil
}

var prices = fetcher.Prices{Post: 0.005, User: 0.01, Event: 0.002}

// charging runs f with a detector of one account, with a limit of 10 posts a day.
func charging(t *testing.T, tune func(*settings), f func(w *priced, d *Detector)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &priced{world: newWorld()}
		d := w.detector(t, func(c *settings) {
			c.Fetcher, c.Cost = w, Cost{Prices: prices, Limit: 0.05}
			if tune != nil {
				tune(c)
			}
		})
		defer start(t, d)()
		set(t, d, sub("m", "nasa"))
		after(time.Second)
		f(w, d)
	})
}

func TestCostLimit(t *testing.T) {
	var log bytes.Buffer
	charging(t, func(c *settings) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) }, func(w *priced, d *Detector) {
		var want []string
		post := func() {
			id := fmt.Sprint(len(want))
			want = append(want, "m:"+id)
			w.publish("nasa", id, 0)
		}
		for range 15 {
			post()
			after(time.Minute)
		}
		wantEvents(t, w.world, want[:10]...)
		c := d.Stats().Cost
		if c.Billed != (fetcher.Billed{Posts: 10}) || c.Total < 0.0499 || c.Total > 0.0501 || c.Today != c.Total || c.Limit != 0.05 || !c.Closed {
			t.Errorf("cost %+v", c)
		}
		if n := polls(w.world, func() { after(23 * time.Hour) }); n != 0 {
			t.Errorf("%d polls after the limit was reached, want none until midnight", n)
		}
		after(50 * time.Minute) // midnight has passed
		wantEvents(t, w.world, want...)
		if c := d.Stats().Cost; c.Billed.Posts != 15 || c.Today < 0.0249 || c.Today > 0.0251 || c.Closed {
			t.Errorf("cost on the next day %+v", c)
		}
		for range 7 { // with 5 of the day before
			post()
			after(time.Minute)
		}
		if c := d.Stats().Cost; c.Billed.Posts != 20 || !c.Closed {
			t.Errorf("cost when the limit is reached again %+v", c)
		}
		if n := polls(w.world, func() { after(time.Hour) }); n != 0 {
			t.Errorf("%d polls after the limit was reached again", n)
		}
		if n := strings.Count(log.String(), "Cost.Limit"); n != 2 {
			t.Errorf("log\n%s\nwant one line of the limit a day", log.String())
		}
	})
}

// What was spent before a restart counts, on the same day: in a fleet, too, whose nodes may be
// called by their process ids.
func TestCostLimitOverRestarts(t *testing.T) {
	for name, nodes := range map[string][3]string{"alone": {}, "a node": {"a", "a", "a"}, "a node of another name each time": {"host-1", "host-2", "host-3"}} {
		t.Run(name, func(t *testing.T) { costOverRestarts(t, nodes) })
	}
}

func costOverRestarts(t *testing.T, nodes [3]string) {
	synctest.Test(t, func(t *testing.T) {
		w := &priced{world: newWorld()}
		since := time.Now()
		published, began := 0, 0
		for _, node := range nodes {
			began = published
			d := w.detector(t, func(c *settings) {
				c.Fetcher, c.Node, c.Cost = w, node, Cost{Prices: prices, Limit: 0.05}
			})
			stop := start(t, d)
			m := sub("m", "nasa")
			m.Accounts[0].Since = since
			set(t, d, m)
			for range 4 {
				w.publish("nasa", fmt.Sprint(published), 0)
				published++
				after(time.Minute)
			}
			stop()
		}
		// The second process pays again for the 4 that it does not know, and for 2 more.
		if got := len(w.got()); got != 6 || began != 8 {
			t.Errorf("%d posts before the limit, want 6; %d were published before the last restart", got, began)
		}
		after(24 * time.Hour)
		d := w.detector(t, func(c *settings) { c.Fetcher, c.Cost = w, Cost{Prices: prices, Limit: 0.1} })
		defer start(t, d)()
		if c := d.Stats().Cost; c.Today != 0 {
			t.Errorf("cost at the beginning of another day %+v", c)
		}
	})
}

func TestCostOfProbesAndStreams(t *testing.T) {
	s := make(chan *wire, 1)
	var log heard.Output
	charging(t, func(c *settings) {
		stream := newWire()
		s <- stream
		c.Logger = slog.New(slog.NewTextHandler(&log, nil))
		c.Shards, c.Cost.Limit, c.Roles.Stream, c.Roles.Probe, c.ProbeRate = 1, 1, stream, c.Fetcher.(*priced), 0.1
	}, func(w *priced, d *Detector) {
		stream := <-s
		stream.out <- fetcher.Signal{Kind: fetcher.SignalHeartbeat, Billed: fetcher.Billed{Events: 20}}
		after(time.Hour / 6)
		c := d.Stats().Cost
		if c.Billed.Events != 20 || c.Billed.Users < 60 || c.Billed.Users > 61 {
			t.Errorf("billed %+v, want 20 events and an account in 10 s", c.Billed)
		}
		after(time.Hour / 6) // 0.04 for events and 1 for accounts
		probes, connects := w.probed(), stream.connects()
		c = d.Stats().Cost
		if !c.Closed || d.Stats().Stream.Connected {
			t.Errorf("cost %+v, stream %+v: want the limit reached, and no connection", c, d.Stats().Stream)
		}
		if n := polls(w.world, func() { after(23 * time.Hour) }); n != 0 || w.probed() != probes || stream.connects() != connects {
			t.Errorf("%d polls, %d probes and %d connections after the limit", n, w.probed()-probes, stream.connects()-connects)
		}
		if text := log.String(); !strings.Contains(text, `"retry in"=23h`) {
			t.Errorf("log\n%s\nwant the stream to retry at midnight", text)
		}
		after(45 * time.Minute)
		if w.probed() == probes || stream.connects() != connects+1 || !d.Stats().Stream.Connected {
			t.Errorf("%d probes and %d connections on the next day", w.probed()-probes, stream.connects()-connects)
		}
	})
}

// A stream that was cut off because the limit was reached connects again when the node's share
// of the limit grows, as polls go on.
func TestStreamGoesOnWithALargerShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &priced{world: newWorld()}
		stream := newWire()
		d := w.detector(t, func(c *settings) {
			c.Fetcher, c.Roles.Stream, c.Cost, c.FetchRate = w, stream, Cost{Prices: prices, Limit: 0.1}, 10
		})
		defer start(t, d)()
		d.SetRate(5)
		set(t, d, sub("m", "nasa"))
		after(time.Second)
		stream.out <- fetcher.Signal{Kind: fetcher.SignalHeartbeat, Billed: fetcher.Billed{Events: 30}} // 0.06
		after(time.Minute)
		if s := d.Stats(); !s.Cost.Closed || s.Stream.Connected {
			t.Fatalf("cost %+v, stream %+v: want half of the limit reached, and no connection", s.Cost, s.Stream)
		}
		d.SetRate(10)
		after(time.Minute)
		if s := d.Stats(); s.Cost.Closed || !s.Stream.Connected {
			t.Errorf("cost %+v, stream %+v: want a connection with twice the share", s.Cost, s.Stream)
		}
	})
}

func TestPlannedCost(t *testing.T) {
	w := &priced{}
	for _, row := range []struct {
		name  string
		roles fetcher.Roles
		want  float64
	}{
		{"posts", fetcher.Roles{}, 1000 * 0.005},
		{"posts and probes", fetcher.Roles{Probe: w}, 1000*0.005 + 1000*0.01},
		{"posts, pushed and audited", fetcher.Roles{Stream: newWire()}, 1000*0.005 + 1000*0.002},
	} {
		t.Run(row.name, func(t *testing.T) {
			cfg := Config{Cost: Cost{Prices: prices}}
			if row.roles.Probe != nil {
				cfg.ProbeRate = 1
			}
			d, err := New(cfg, Deps{Fetcher: w, Journal: &world{}, State: &world{}, Roles: row.roles})
			if err != nil {
				t.Fatal(err)
			}
			m := sub("m")
			for i := range 1000 {
				m.Accounts = append(m.Accounts, sub("m", fmt.Sprint("a", i)).Accounts...)
			}
			plans, err := d.PlanFor([]Subscription{m}, nil)
			if err != nil || plans.CostPerDay < row.want*0.999 || plans.CostPerDay > row.want*1.001 {
				t.Errorf("%v a day, want %v; %v", plans.CostPerDay, row.want, err)
			}
		})
	}
}
