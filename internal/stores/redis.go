package stores

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/redisstore"
)

// wantRedis says which addresses of Redis are allowed.
const wantRedis = "want redis:// or rediss://[user:password@]host:port[/database]; of a cluster with ?addr=host:port&addr=…; " +
	"of Sentinels with ?master_name=NAME&addr=host:port&username=…&password=…, where the user before the @ is the Sentinels', and the other one the servers'"

// redisOptions parses a Redis address. With several addresses it is that of a cluster, and with the
// name of a master it is that of Sentinels. The error contains no user, password or query value.
func redisOptions(raw string) (*redis.UniversalOptions, error) {
	o, ok := parseRedis(raw)
	if !ok {
		return nil, fmt.Errorf("%s is not allowed: %s", redacted(raw), wantRedis)
	}
	return o, nil
}

func parseRedis(raw string) (o *redis.UniversalOptions, ok bool) {
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "redis" && u.Scheme != "rediss" {
		return nil, false
	}
	query := u.Query()
	for key, values := range query {
		if key != "addr" && len(values) > 1 || !slices.Contains([]string{"addr", "master_name", "username", "password"}, key) {
			return nil, false
		}
	}
	o = &redis.UniversalOptions{MasterName: query.Get("master_name"), IsClusterMode: query.Has("addr") && !query.Has("master_name"), Username: u.User.Username()}
	o.Password, _ = u.User.Password()
	if o.MasterName != "" {
		o.SentinelUsername, o.SentinelPassword = o.Username, o.Password
		o.Username, o.Password = query.Get("username"), query.Get("password")
	} else if query.Has("master_name") || query.Has("username") || query.Has("password") {
		return nil, false
	}
	host := u.Host
	if u.Port() == "" && o.MasterName == "" { // Sentinels do not use the default port of a server
		host = net.JoinHostPort(u.Hostname(), "6379")
	}
	o.Addrs = append([]string{host}, query["addr"]...)
	for _, addr := range o.Addrs {
		host, port, err := net.SplitHostPort(addr)
		if n, wrong := strconv.Atoi(port); err != nil || wrong != nil || host == "" || n < 1 || n > math.MaxUint16 {
			return nil, false
		}
	}
	if u.Scheme == "rediss" {
		o.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12} // a certificate must have the dialed name
	}
	if db := strings.Trim(u.Path, "/"); db != "" {
		if o.DB, err = strconv.Atoi(db); err != nil || o.DB < 0 || o.IsClusterMode {
			return nil, false
		}
	}
	return o, true
}

// openRedis opens a store on Redis.
func openRedis(ctx context.Context, a Address, log *slog.Logger) (storage.Store, error) {
	to, err := redisOptions(string(a))
	if err != nil {
		return nil, err
	}
	redisLog.to(log)
	store, err := redisstore.Open(ctx, to, redisstore.Options{Logger: log})
	if err != nil {
		return nil, reworded{err, redisWords.Replace(err.Error())}
	}
	return store, nil
}

// redisWords removes advice from the store's errors that names options without a configuration key.
var redisWords = strings.NewReplacer(", or Options.AllowEviction to take the risk", "", "begin with another Options.Name,", "take another /database of the server,")

// redisLog is the logger of the client library. Without it, the library writes several lines a second
// to stderr while the server is unreachable; the store logs this once.
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
