// Benthos is a contestant of the program above: the stream processor of that name, which
// does the job by configuration. It is a module of its own, because it needs some sixty others.
//
// It talks with its parent as the other contestants do. The order is JSON in the
// environment; the commands begin and end, which answers with the CPU time between them,
// come on standard input, one a line.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"

	"github.com/redpanda-data/benthos/v4/public/service"

	_ "github.com/redpanda-data/benthos/v4/public/components/io"
	_ "github.com/redpanda-data/benthos/v4/public/components/pure"
)

// variable has the order. Its name and the fields are those of the program above.
const variable = "STREAMWATCH_BENCHMARK_WHOLEJOB"

type order struct {
	Contestant struct {
		URL, Hook, Secret string
		Accounts, Page    int
		First             int64
		Interval          time.Duration
		InFlight          int
	}
}

// config is the job. A number that grows names the account to ask for; each answer is taken
// apart into posts, of which those pass that were published since the start and that the
// cache does not have.
const config = `
input:
  generate:
    interval: ${INTERVAL}
    mapping: 'root.account = (counter() - 1) % ${ACCOUNTS} + ${FIRST}'
pipeline:
  threads: ${IN_FLIGHT}
  processors:
    - http:
        url: '${URL}/api/v1/accounts/${! json("account") }/statuses?limit=${PAGE}'
        verb: GET
        timeout: 30s
        retries: 0
    - unarchive:
        format: json_array
    - mapping: |
        root = if this.created_at.ts_parse("2006-01-02T15:04:05Z07:00").ts_unix_milli() < ${START} { deleted() } else {
          {"event": "post", "tweet_id": this.id, "account": this.account.username, "post": this}
        }
    - dedupe:
        cache: seen
        key: '${! json("tweet_id") }'
output:
  http_client:
    url: '${HOOK}'
    verb: POST
    headers:
      Content-Type: application/json
      X-Signature-256: 'sha256=${! content().hash("hmac_sha256", "${SECRET}").encode("hex") }'
    max_in_flight: ${IN_FLIGHT}
cache_resources:
  - label: seen
    memory:
      default_ttl: 1h
      compaction_interval: 1m
logger:
  level: ERROR
`

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "benthos:", err)
		os.Exit(1)
	}
}

func run() error {
	var o order
	if err := json.Unmarshal([]byte(os.Getenv(variable)), &o); err != nil {
		return fmt.Errorf("%s: %w", variable, err)
	}
	c := o.Contestant
	values := map[string]string{
		"INTERVAL": (c.Interval / time.Duration(c.Accounts)).String(), "ACCOUNTS": strconv.Itoa(c.Accounts), "FIRST": strconv.FormatInt(c.First, 10),
		"IN_FLIGHT": strconv.Itoa(c.InFlight), "URL": c.URL, "PAGE": strconv.Itoa(c.Page), "HOOK": c.Hook, "SECRET": c.Secret,
		"START": strconv.FormatInt(time.Now().UnixMilli(), 10),
	}
	b := service.NewStreamBuilder()
	b.SetEnvVarLookupFunc(func(name string) (string, bool) {
		v, ok := values[name]
		return v, ok
	})
	if err := b.SetYAML(config); err != nil {
		return err
	}
	stream, err := b.Build()
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- stream.Run(context.Background()) }()
	if err := answer(); err != nil {
		return err
	}
	if err := stream.StopWithin(10 * time.Second); err != nil {
		return err
	}
	return <-ended
}

// answer answers commands until standard input ends.
func answer() error {
	out := json.NewEncoder(os.Stdout)
	if err := out.Encode("ready"); err != nil {
		return err
	}
	var before time.Duration
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		used := cpuTime()
		if in.Text() == "begin" {
			before = used
		} else {
			used -= before
		}
		if err := out.Encode(used); err != nil {
			return err
		}
	}
	return in.Err()
}

// cpuTime is the processor time that the process has used, in user and kernel mode.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
