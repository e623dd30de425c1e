package redisstore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/streamwatch/streamwatch/storage/internal/calls"
	"github.com/streamwatch/streamwatch/storage/internal/serverclock"
)

const (
	// dataVersion is the version of the data; any other is refused.
	dataVersion = 4
	dataMark    = "streamwatch "
	currentMark = "streamwatch 4" // dataMark and dataVersion
	// oldestServer is the oldest supported major version of Redis. Since 7.0 the errors of scripts
	// have codes, which tell whether a call may be tried again.
	oldestServer = 7
)

// Open opens the store named opts.Name. to describes a server, sentinels or a cluster: see
// redis.NewUniversalClient. The store has its own connections. Whatever to says, its client does
// not retry, obeys the contexts of calls, and does not use replicas.
//
// Open refuses a server older than 7.0 with ErrServer, a server that may evict keys with
// ErrEviction, and data that it cannot read with ErrVersion or ErrForeign. When ctx ends, Open
// fails; an opened store is not affected.
func Open(ctx context.Context, to *redis.UniversalOptions, opts Options) (*Store, error) {
	if to == nil {
		return nil, errors.New("redisstore: options of the client are missing: want at least Addrs")
	}
	var server *serverclock.Clock
	if opts.Now == nil {
		server = serverclock.New()
		opts.Now = server.Now
	}
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	own := *to
	own.MaxRetries = -1
	own.DialerRetries = 1
	own.ContextTimeoutEnabled = true
	own.ReadOnly, own.RouteByLatency, own.RouteRandomly = false, false, false
	s := &Store{
		opts: opts, clock: server, redis: redis.NewUniversalClient(&own), prefix: "{" + opts.Name + "}:", client: rand.Text(), calls: calls.New(ErrClosed),
		slots: make(chan *slot, callSlots), bound: newBindings(),
	}
	_, s.cluster = s.redis.(*redis.ClusterClient)
	for i := range callSlots {
		s.slots <- &slot{field: strconv.Itoa(i)}
	}
	s.added.Store(removalStep) // the first commit removes old events that earlier stores have left
	if err := s.check(ctx, own.Protocol); err != nil {
		return nil, errors.Join(err, s.redis.Close())
	}
	return s, nil
}

// check first checks the server, then the version of the data. It writes nothing to a server that
// it refuses.
func (s *Store) check(ctx context.Context, protocol int) error {
	var refusal error // not retried
	err := s.retry(ctx, false, func(ctx context.Context) (err error) {
		refusal, err = look(ctx, s, protocol)
		return err
	})
	switch {
	case refusal != nil:
		return refusal
	case err != nil && ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return fmt.Errorf("redisstore: open: %w", err)
	}
	if s.opts.use != 0 {
		if ready, err := s.forCopy(ctx); ready || err != nil {
			return err
		}
	}
	out, err := s.run(ctx, "open", currentMark)
	if err != nil {
		if strings.Contains(err.Error(), "WRONGTYPE") {
			return fmt.Errorf("%w: key %sversion is no text", ErrForeign, s.prefix)
		}
		return err
	}
	mark, _ := out[0].(string)
	if err := checkMark(mark); err != nil {
		return err
	}
	if s.deliveryEpoch, err = strconv.ParseUint(text(out[2]), 10, 64); err != nil {
		return errRecord
	}
	if _, err := (members{s}).Look(ctx); err != nil || text(out[1]) == "" {
		return err
	}
	return s.endDeliveries(ctx)
}

// look checks the server that has the store's slot. refusal says why the server cannot be used. err
// says why it could not be asked.
func look(ctx context.Context, s *Store, protocol int) (refusal, err error) {
	var node redis.UniversalClient = s.redis
	if c, ok := s.redis.(*redis.ClusterClient); ok {
		if node, err = c.MasterForKey(ctx, s.prefix); err != nil {
			return nil, err
		}
	}
	refusal, err = checkServer(ctx, node, protocol)
	if refusal != nil || err != nil || s.opts.AllowEviction {
		return refusal, err
	}
	return checkEviction(ctx, node)
}

func checkMark(mark string) error {
	if mark == unfinishedMark {
		return errUnfinished
	}
	text, ours := strings.CutPrefix(mark, dataMark)
	version, err := strconv.Atoi(text)
	switch {
	case !ours || err != nil || version < 1:
		return fmt.Errorf("%w: the key of the version says %.40q, want %q", ErrForeign, mark, currentMark)
	case version != dataVersion:
		return fmt.Errorf("%w: version %d, want %d: begin with another Options.Name, or remove the keys", ErrVersion, version, dataVersion)
	}
	return nil
}

// checkServer checks the version that HELLO returns: https://redis.io/commands/hello
func checkServer(ctx context.Context, node redis.UniversalClient, protocol int) (refusal, err error) {
	if protocol != 2 {
		protocol = 3 // the client's default; HELLO also sets the protocol
	}
	hello, err := node.Do(ctx, "HELLO", protocol).Result()
	if redis.HasErrorPrefix(err, "unknown command") {
		return fmt.Errorf("%w: Redis before 6.0, want %d.0 or newer", ErrServer, oldestServer), nil
	}
	if err != nil {
		return nil, err
	}
	version := helloField(hello, "version")
	major, _, _ := strings.Cut(version, ".")
	if n, err := strconv.Atoi(major); err != nil || n < oldestServer {
		return fmt.Errorf("%w: version %.40q, want %d.0 or newer", ErrServer, version, oldestServer), nil
	}
	return nil, nil
}

func helloField(hello any, name string) string {
	var value any
	switch h := hello.(type) {
	case map[any]any:
		value = h[name]
	case []any:
		for i := 0; i+1 < len(h); i += 2 {
			if h[i] == name {
				value = h[i+1]
			}
		}
	}
	text, _ := value.(string)
	return text
}

const noEviction = "noeviction"

// checkEviction refuses a server that may evict keys when its memory is full. It asks CONFIG, then
// INFO, because managed services refuse CONFIG.
func checkEviction(ctx context.Context, node redis.UniversalClient) (refusal, err error) {
	const fix = `set "maxmemory-policy noeviction" in its configuration, or Options.AllowEviction to take the risk`
	config, err := node.ConfigGet(ctx, "maxmemory-policy").Result()
	if err != nil && judge(err).again {
		return nil, err
	}
	policy := config["maxmemory-policy"]
	if policy == "" {
		info, err := node.Info(ctx, "memory").Result()
		if err != nil && judge(err).again {
			return nil, err
		}
		for line := range strings.Lines(info) {
			if value, ok := strings.CutPrefix(line, "maxmemory_policy:"); ok {
				policy = strings.TrimSpace(value)
			}
		}
	}
	switch policy {
	case noEviction:
		return nil, nil
	case "":
		return fmt.Errorf("%w: it does not say what it does when its memory is full: %s", ErrEviction, fix), nil
	}
	return fmt.Errorf("%w: maxmemory-policy %q is not allowed: %s", ErrEviction, policy, fix), nil
}
