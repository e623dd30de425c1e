package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/url"
	"sync"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"github.com/streamwatch/streamwatch/internal/netguard"
)

// wantRedis is what an address of Redis may be. The text of the client's own errors has
// values of the query.
const wantRedis = "want redis://[user:password@]host:port, and behind it only a /database and options that go-redis knows"

// wantSentinel is what an address of Sentinels may be, in the form that go-redis has for it.
const wantSentinel = "want redis://[user:password@]host:port[/database]?master_name=NAME, where user and password are the Sentinels', and behind it addr=host:port for each other Sentinel, username= and password= for the servers, and options that go-redis knows"

// decided are what the store decides for the client, whatever an address says.
var decided = []string{
	"max_retries", "min_retry_backoff", "max_retry_backoff", "dialer_retries", "dialer_retry_timeout", "context_timeout_enabled",
	"read_only", "replica_only", "use_disconnected_replicas", "route_by_latency", "route_randomly",
}

// redisOptions reads the address of a server; of a cluster when it names further addresses;
// or of Sentinels when it names the master that they watch. The error, which wants a name
// before it, shows neither user nor password nor values of the query.
func redisOptions(raw string) (*redis.UniversalOptions, error) {
	o, err := parseRedis(raw)
	if err != nil {
		return nil, err
	}
	for _, addr := range o.Addrs {
		_, port, err := net.SplitHostPort(addr)
		if n, unknown := net.LookupPort("tcp", port); err != nil || unknown != nil || n < 1 || n > math.MaxUint16 {
			return nil, fmt.Errorf("%s is not allowed: want host:port, also as addr, with a port of 1 to %d", netguard.RedactURL(raw), math.MaxUint16)
		}
	}
	return o, nil
}

// parseRedis is redisOptions without a look at the ports.
func parseRedis(raw string) (*redis.UniversalOptions, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return nil, errors.New("is not allowed: " + wantRedis)
	}
	query := u.Query()
	for _, name := range decided {
		if query.Has(name) {
			return nil, fmt.Errorf("%s is not allowed: want it without %s, which is the store's to decide", netguard.RedactURL(raw), name)
		}
	}
	if query.Has("master_name") {
		o, err := redis.ParseFailoverURL(raw)
		if err != nil || o.MasterName == "" || u.Port() == "" { // whose default would be a server's
			return nil, fmt.Errorf("%s is not allowed: %s", netguard.RedactURL(raw), wantSentinel)
		}
		if o.TLSConfig != nil {
			o.TLSConfig.ServerName = "" // each has a name of its own, by which it is dialed
		}
		return &redis.UniversalOptions{
			Addrs: o.SentinelAddrs, MasterName: o.MasterName, SentinelUsername: o.SentinelUsername, SentinelPassword: o.SentinelPassword,
			DB: o.DB, Username: o.Username, Password: o.Password, TLSConfig: o.TLSConfig,
			Protocol: o.Protocol, ClientName: o.ClientName, DisableIdentity: o.DisableIdentity, IdentitySuffix: o.IdentitySuffix,
			DialTimeout: o.DialTimeout, ReadTimeout: o.ReadTimeout, WriteTimeout: o.WriteTimeout,
			PoolFIFO: o.PoolFIFO, PoolSize: o.PoolSize, PoolTimeout: o.PoolTimeout, MaxConcurrentDials: o.MaxConcurrentDials,
			MinIdleConns: o.MinIdleConns, MaxIdleConns: o.MaxIdleConns, MaxActiveConns: o.MaxActiveConns,
			ConnMaxIdleTime: o.ConnMaxIdleTime, ConnMaxLifetime: o.ConnMaxLifetime, ConnMaxLifetimeJitter: o.ConnMaxLifetimeJitter,
		}, nil
	}
	if query.Has("addr") {
		o, err := redis.ParseClusterURL(raw)
		if err != nil {
			return nil, fmt.Errorf("%s is not allowed: %s", netguard.RedactURL(raw), wantRedis)
		}
		return &redis.UniversalOptions{
			Addrs: o.Addrs, IsClusterMode: true, Username: o.Username, Password: o.Password, TLSConfig: o.TLSConfig,
			Protocol: o.Protocol, ClientName: o.ClientName, MaxRedirects: o.MaxRedirects, FailingTimeoutSeconds: o.FailingTimeoutSeconds,
			DialTimeout: o.DialTimeout, ReadTimeout: o.ReadTimeout, WriteTimeout: o.WriteTimeout,
			PoolFIFO: o.PoolFIFO, PoolSize: o.PoolSize, PoolTimeout: o.PoolTimeout, MaxConcurrentDials: o.MaxConcurrentDials,
			MinIdleConns: o.MinIdleConns, MaxIdleConns: o.MaxIdleConns, MaxActiveConns: o.MaxActiveConns,
			ConnMaxIdleTime: o.ConnMaxIdleTime, ConnMaxLifetime: o.ConnMaxLifetime, ConnMaxLifetimeJitter: o.ConnMaxLifetimeJitter,
		}, nil
	}
	o, err := redis.ParseURL(raw)
	if err != nil {
		return nil, fmt.Errorf("%s is not allowed: %s", netguard.RedactURL(raw), wantRedis)
	}
	return &redis.UniversalOptions{
		Addrs: []string{o.Addr}, DB: o.DB, Username: o.Username, Password: o.Password, TLSConfig: o.TLSConfig,
		Protocol: o.Protocol, ClientName: o.ClientName,
		DialTimeout: o.DialTimeout, ReadTimeout: o.ReadTimeout, WriteTimeout: o.WriteTimeout,
		PoolFIFO: o.PoolFIFO, PoolSize: o.PoolSize, PoolTimeout: o.PoolTimeout, MaxConcurrentDials: o.MaxConcurrentDials,
		MinIdleConns: o.MinIdleConns, MaxIdleConns: o.MaxIdleConns, MaxActiveConns: o.MaxActiveConns,
		ConnMaxIdleTime: o.ConnMaxIdleTime, ConnMaxLifetime: o.ConnMaxLifetime, ConnMaxLifetimeJitter: o.ConnMaxLifetimeJitter,
	}, nil
}

// redisLog gets what the client library has to say, which else goes to stderr in a format
// of its own, several lines a second while the server is away. The store logs that once.
var redisLog clientLog

type clientLog struct {
	once sync.Once
	log  atomic.Pointer[slog.Logger]
}

// to has the library log to log from now on.
func (l *clientLog) to(log *slog.Logger) {
	l.log.Store(log)
	l.once.Do(func() { redis.SetLogger(l) })
}

// Printf is what the library calls.
func (l *clientLog) Printf(ctx context.Context, format string, v ...any) {
	if log := l.log.Load(); log.Enabled(ctx, slog.LevelDebug) {
		log.DebugContext(ctx, "redis client", "text", fmt.Sprintf(format, v...))
	}
}
