package stores

import (
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

// The driver gets the address without what is the program's, byte for byte.
func TestPostgresOptions(t *testing.T) {
	for raw, want := range map[string]struct {
		address     string
		schema      string
		connections int
	}{
		"postgres://h": {address: "postgres://h?connect_timeout=5"},
		"postgresql://me:p%20w@h:1/db?schema=a%20b&sslmode=require&connections=8":  {"postgresql://me:p%20w@h:1/db?sslmode=require&connect_timeout=5", "a b", 8},
		"postgres://h:1,i:2/db?target_session_attrs=read-write&connect_timeout=9":  {address: "postgres://h:1,i:2/db?target_session_attrs=read-write&connect_timeout=9"},
		"postgres:///db?host=/run/postgresql&options=-c%20work_mem%3D8MB&user=a@b": {address: "postgres:///db?host=/run/postgresql&options=-c%20work_mem%3D8MB&user=a@b&connect_timeout=5"},
		"postgres://[::1]:5/db": {address: "postgres://[::1]:5/db?connect_timeout=5"},
	} {
		address, o, err := postgresOptions(raw)
		if err != nil || address != want.address || o.Schema != want.schema || o.Connections != want.connections {
			t.Errorf("%s: %s, %+v, %v", raw, address, o, err)
		}
	}
	for raw, want := range map[string]string{
		"postgres://me:pw@h:99999/d":                       "postgres://***@h:99999/d is not allowed: invalid port: want postgres://",
		"postgres://me:p%zw@h/d":                           "*** is not allowed: want postgres://",
		"postgres://me:p w@h/d":                            "*** is not allowed: want postgres://",
		"postgres://me:12/pw@h/d":                          "*** is not allowed: wrong user or password, in which / is %2F and @ is %40: want",
		"postgres://me:pw@h/d?sslmode=pw":                  "?sslmode=*** is not allowed: failed to configure TLS (sslmode is invalid): want",
		"postgres://me:pw@h/d?schema=":                     "wrong schema: want",
		"postgres://h/d?schema=" + strings.Repeat("a", 64): "wrong schema: want",
		"postgres://h/d?schema=a&schema=b":                 "wrong schema: want",
		"postgres://h/d?connections=3":                     "wrong connections: want",
		"postgres://h/d?connections=pw&schema=%":           "wrong connections and schema: want",
	} {
		if _, _, err := postgresOptions(raw); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "pw") {
			t.Errorf("%s: error %v, want %q without the password", raw, err, want)
		}
	}
}

// An address names a server, a cluster, or Sentinels with the master that they watch, and who
// asks them and it.
func TestRedisOptions(t *testing.T) {
	for raw, want := range map[string]redis.UniversalOptions{
		"redis://h":                 {Addrs: []string{"h:6379"}},
		"redis://me:pw@h:1/2":       {Addrs: []string{"h:1"}, DB: 2, Username: "me", Password: "pw"},
		"redis://[::1]:65535":       {Addrs: []string{"[::1]:65535"}},
		"rediss://h:1?addr=i:2":     {Addrs: []string{"h:1", "i:2"}, IsClusterMode: true},
		"redis://h:1?master_name=m": {Addrs: []string{"h:1"}, MasterName: "m"},
		"redis://w:wp@h:1/3?master_name=m&addr=i:2&username=app&password=ap": {
			Addrs: []string{"h:1", "i:2"}, MasterName: "m", SentinelUsername: "w", SentinelPassword: "wp", Username: "app", Password: "ap", DB: 3},
	} {
		o, err := redisOptions(raw)
		if err != nil {
			t.Errorf("%s: %v", raw, err)
			continue
		}
		if !slices.Equal(o.Addrs, want.Addrs) || o.DB != want.DB || o.IsClusterMode != want.IsClusterMode || o.MasterName != want.MasterName ||
			o.Username != want.Username || o.Password != want.Password || o.SentinelUsername != want.SentinelUsername || o.SentinelPassword != want.SentinelPassword {
			t.Errorf("%s: %+v", raw, o)
		}
		if tls := o.TLSConfig != nil && o.TLSConfig.ServerName == ""; tls != strings.HasPrefix(raw, "rediss:") {
			t.Errorf("%s: TLS with each server checked by its own name: %t", raw, tls)
		}
	}
	for _, raw := range []string{
		"http://me:pw@h", "redis://me:pw@h:1/x", "redis://me:pw@h:x", "redis://h?password=pw", "redis://h?db=pw", "redis://h:1/2?addr=i:1", "redis://h/%zz?password=pw",
		"redis://h:0", "redis://h:65536", "redis://:pw@:1", "redis://h:1?addr=i:99999", "redis://h:1?addr=i",
		"redis://h:1?master_name=", "redis://me:pw@h?master_name=m", "redis://h:1?master_name=m&master_name=n", "redis://h:1?pool_size=5",
	} {
		if _, err := redisOptions(raw); err == nil || !strings.Contains(err.Error(), "is not allowed: want redis:// or rediss://") || strings.Contains(err.Error(), "pw") {
			t.Errorf("%s: error %v, want one without the password", raw, err)
		}
	}
}
