package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/webhook"
	"github.com/streamwatch/streamwatch/fetcher/mastodon"
	"github.com/streamwatch/streamwatch/internal/crashpoint"
	"github.com/streamwatch/streamwatch/storage"
)

// childVariable is the environment variable that makes this program the child, the process that is
// killed. Its value is a childConfig in JSON.
const childVariable = "STREAMWATCH_CRASHTEST_CHILD"

// childConfig tells the child what to do.
type childConfig struct {
	Life     int    // number of the process in its round
	Node     string // its name in a fleet, "" for an engine that is alone
	Platform string // URL
	Receiver string // URL
	Store    storeConfig
	Point    string // where it dies after passing it Skip times; "" for nowhere
	Skip     int
	Bug      string // a planted fault, see bugs; "" for none
	// Worker makes the child a node of a fleet without an engine, unless it is nil.
	Worker *workerTask
}

// bugs has wrappers that add a fault to a store, by name. Tests use them to see that the checks
// find the fault.
var bugs = map[string]func(storage.Store) storage.Store{}

// sendingBugs has functions that add a fault to the engine's configuration, by name.
var sendingBugs = map[string]func(*streamwatch.Config){}

// Times of the child. They are short, because much must happen before it dies.
const (
	pollInterval   = tempo * 50 * time.Millisecond
	attemptTimeout = tempo * 400 * time.Millisecond
	claimLasts     = 4 * attemptTimeout // the shortest that a dispatcher accepts
	stopsWithin    = tempo * 30 * time.Second
)

// runChild runs the child: an engine on a store, as a service would embed it. It reads the
// operations of customers from lines on standard input, and ends when standard input is closed.
func runChild(setting string) error {
	var cfg childConfig
	if err := json.Unmarshal([]byte(setting), &cfg); err != nil {
		return fmt.Errorf("crashtest: %s: %w", childVariable, err)
	}
	if cfg.Point != "" {
		crashpoint.Arm(cfg.Point, cfg.Skip)
	}
	ctx := context.Background()
	opened, err := openStore(ctx, cfg.Store)
	if err != nil {
		return err
	}
	c := child{lines: json.NewEncoder(os.Stdout)}
	if cfg.Worker != nil {
		w, err := newWorker(*cfg.Worker, opened, func(s written) error { return c.send(reply{Worker: &s}) })
		if err != nil {
			return err
		}
		return w.run(ctx)
	}
	crashpoint.Hit("store.opened")
	store := storage.Store(pointedStore{opened})
	if wrap := bugs[cfg.Bug]; wrap != nil {
		store = wrap(store)
	}
	engine, err := newEngine(cfg, store)
	if err != nil {
		return err
	}
	c.service = service{engine: engine, store: store}
	if err := engine.Start(ctx); err != nil {
		return err
	}
	if err := c.send(reply{Up: true}); err != nil {
		return err
	}
	return c.serve(ctx, os.Stdin)
}

// newEngine returns an engine with short intervals, which does much in little time.
func newEngine(cfg childConfig, store storage.Store) (*streamwatch.Engine, error) {
	source, err := mastodon.New(mastodon.Config{BaseURL: cfg.Platform, UserAgent: lifeAgent(cfg.Life), PageSize: pageSize})
	if err != nil {
		return nil, err
	}
	transport := namedTransport{&http.Transport{MaxIdleConnsPerHost: 64}, cfg.Life}
	ec := streamwatch.Config{
		Fetcher:     source,
		Store:       store,
		OnEvent:     (&sink{cfg.Receiver + handlerPath, &http.Client{Transport: transport}}).take,
		Webhook:     webhook.Config{AllowPrivate: true, Transport: transport},
		MinInterval: pollInterval,
	}
	if cfg.Node != "" {
		ec.Fleet = &streamwatch.FleetConfig{Name: cfg.Node, Lease: fleetLease}
	}
	ec.Detect.Overlap = overlap
	ec.Detect.MaxPages = 100
	ec.Detect.FetchTimeout = time.Second
	ec.Detect.Backoff.Min, ec.Detect.Backoff.Max = pollInterval/2, 4*pollInterval
	ec.Deliver.Timeout = attemptTimeout
	ec.Deliver.Lease = claimLasts
	ec.Deliver.RetrySchedule = []time.Duration{40 * time.Millisecond, 80 * time.Millisecond, 160 * time.Millisecond}
	if change := sendingBugs[cfg.Bug]; change != nil {
		change(&ec)
	}
	return streamwatch.New(ec)
}

// lifeAgent returns the user agent by which the platform recognises the process.
func lifeAgent(life int) string { return fmt.Sprintf("crashtest/%d", life) }

// child carries out operations of customers and answers them, many at the same time.
type child struct {
	service
	mu    sync.Mutex
	lines *json.Encoder
}

// send writes a line with a single write, so that a killed process leaves no part of one.
func (c *child) send(r reply) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lines.Encode(r)
}

func (c *child) serve(ctx context.Context, in io.Reader) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var o op
		if err := json.Unmarshal(lines.Bytes(), &o); err != nil {
			return fmt.Errorf("crashtest: operation %q: %w", lines.Text(), err)
		}
		if o.Do == doStop {
			return c.stop(ctx, o)
		}
		go func() {
			if err := c.send(c.do(ctx, o)); err != nil {
				fmt.Fprintln(os.Stderr, err)
			}
		}()
	}
	return errors.Join(errors.New("crashtest: standard input was closed"), lines.Err())
}

// stop ends gracefully, as a service does that is updated.
func (c *child) stop(ctx context.Context, o op) error {
	soft, cancel := context.WithTimeout(ctx, stopsWithin)
	defer cancel()
	if err := passed("engine.stopped", c.engine.Shutdown(soft)); err != nil {
		return err
	}
	if err := passed("store.closed", c.store.Close(soft)); err != nil {
		return err
	}
	return c.send(reply{N: o.N})
}

// sink is the in-process handler. It sends the events that it gets to the parent.
type sink struct {
	url    string
	client *http.Client
}

// Headers of what the handler passes on.
const (
	handlerPath      = "/handler"
	headerEventID    = "X-Event-Id"
	headerDeliveryID = "X-Delivery-Id"
	headerLife       = "X-Crashtest-Life" // of requests and calls: the process
)

func (s *sink) take(ctx context.Context, e deliver.Event) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, bytes.NewReader(e.Body))
	if err != nil {
		return err
	}
	req.Header.Set(headerEventID, e.ID)
	resp, err := s.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("crashtest: handler was answered %s", resp.Status)
	}
	return nil
}
