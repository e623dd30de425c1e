package main

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/internal/heard"
)

// What an address asks of the client the client gets; none of it is passed over.
func TestRedisOptionsReachTheClient(t *testing.T) {
	const query = "?protocol=2&client_name=sw&dial_timeout=1s&read_timeout=2s&write_timeout=3s&pool_fifo=true&pool_size=7&pool_timeout=4s" +
		"&min_idle_conns=1&max_idle_conns=2&max_active_conns=9&max_concurrent_dials=3&conn_max_idle_time=5s&conn_max_lifetime=6s&conn_max_lifetime_jitter=1s"
	for raw, cluster := range map[string]bool{"redis://h:1/2" + query: false, "redis://h:1" + query + "&addr=i:2&max_redirects=4": true, "redis://h:1/2" + query + "&master_name=m": false} {
		o, err := redisOptions(raw)
		if err != nil {
			t.Fatal(err)
		}
		if o.Protocol != 2 || o.ClientName != "sw" || o.DialTimeout != time.Second || o.ReadTimeout != 2*time.Second || o.WriteTimeout != 3*time.Second ||
			!o.PoolFIFO || o.PoolSize != 7 || o.PoolTimeout != 4*time.Second || o.MinIdleConns != 1 || o.MaxIdleConns != 2 || o.MaxActiveConns != 9 || o.MaxConcurrentDials != 3 ||
			o.ConnMaxIdleTime != 5*time.Second || o.ConnMaxLifetime != 6*time.Second || o.ConnMaxLifetimeJitter != time.Second {
			t.Errorf("%s: %+v, want all that it asks for", raw, o)
		}
		if o.IsClusterMode != cluster || cluster && o.MaxRedirects != 4 {
			t.Errorf("%s: %+v, want a cluster: %t", raw, o, cluster)
		}
	}
}

// While the server is away the client library has something to say for each attempt. It
// says it in the format of -log, to who asks for debug, and not on stderr beside the log.
func TestRedisClientLogsToTheLog(t *testing.T) {
	for level, until := range map[string]string{"debug": `"msg":"redis client"`, "info": "redis does not answer"} {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		var logs heard.Output
		logs.On(until, cancel)
		err := run(ctx, process{noEnv, io.Discard, &logs}, strings.Fields("serve -platform https://mastodon.example -addr 127.0.0.1:0 -log json -redis redis://127.0.0.1:1 -log-level "+level))
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(logs.String(), `"msg":"redis client"`); got != (level == "debug") {
			t.Errorf("-log-level %s: lines of the client %t: %s", level, got, &logs)
		}
	}
}
