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

// wantRedis says which addresses of Redis are allowed. It stands in place of go-redis' own
// errors, which show values of the query, such as passwords.
const wantRedis = "want redis://[user:password@]host:port, and behind it only a /database and options that go-redis knows"

// wantSentinel says which addresses of Sentinels are allowed, in the form of go-redis.
const wantSentinel = "want redis://[user:password@]host:port[/database]?master_name=NAME, where user and password are the Sentinels', and behind it addr=host:port for each other Sentinel, username= and password= for the servers, and options that go-redis knows"

// storeOptions are the options of a client that the store sets, whatever an address says.
var storeOptions = []string{
	"max_retries", "min_retry_backoff", "max_retry_backoff", "dialer_retries", "dialer_retry_timeout", "context_timeout_enabled",
	"read_only", "replica_only", "use_disconnected_replicas", "route_by_latency", "route_randomly",
}

// redisOptions parses the address of a server; of a cluster, if it names further addresses;
// or of Sentinels, if it names the master that they watch. The error begins with "is not
// allowed" or the redacted address, for the caller to put the flag's name before it. It
// shows neither user nor password nor values of the query.
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

// parseRedis is redisOptions without the check of the ports.
func parseRedis(raw string) (*redis.UniversalOptions, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return nil, errors.New("is not allowed: " + wantRedis)
	}
	query := u.Query()
	for _, name := range storeOptions {
		if query.Has(name) {
			return nil, fmt.Errorf("%s is not allowed: want it without %s, which is the store's to decide", netguard.RedactURL(raw), name)
		}
	}
	if query.Has("master_name") {
		o, err := redis.ParseFailoverURL(raw)
		if err != nil || o.MasterName == "" || u.Port() == "" { // the default port is that of a server, not of a Sentinel
			return nil, fmt.Errorf("%s is not allowed: %s", netguard.RedactURL(raw), wantSentinel)
		}
		if o.TLSConfig != nil {
			o.TLSConfig.ServerName = "" // each server has its own, which it is dialed by
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

// redisLog is the logger of the client library. By default that writes to stderr, several
// lines a second while the server is away, which the store logs once.
var redisLog clientLog

type clientLog struct {
	once sync.Once
	log  atomic.Pointer[slog.Logger]
}

// to makes the library log to log, at debug level, from now on.
func (l *clientLog) to(log *slog.Logger) {
	l.log.Store(log)
	l.once.Do(func() { redis.SetLogger(l) })
}

// Printf implements the interface of redis.SetLogger.
func (l *clientLog) Printf(ctx context.Context, format string, v ...any) {
	if log := l.log.Load(); log.Enabled(ctx, slog.LevelDebug) {
		log.DebugContext(ctx, "redis client", "text", fmt.Sprintf(format, v...))
	}
}
