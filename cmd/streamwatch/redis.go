package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"sync"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"github.com/streamwatch/streamwatch/internal/netguard"
)

// wantRedis is what an address of Redis may be. The text of the client's own errors has
// values of the query.
const wantRedis = "want redis://[user:password@]host:port, and behind it only a /database and options that go-redis knows"

// redisOptions reads the address of a server, or of a cluster when it names
// further addresses. The error, which wants a name before it, shows neither user nor password nor values of the query.
func redisOptions(raw string) (*redis.UniversalOptions, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return nil, errors.New("is not allowed: " + wantRedis)
	}
	if u.Query().Has("addr") {
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
