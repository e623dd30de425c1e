package redisstore_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/storage/redisstore"
	"github.com/streamwatch/streamwatch/storage/redisstore/internal/redistest"
)

// A beat of one of 100 nodes, on a real server: CPU-µs/beat is what the server needs. A fleet of
// so many with the default lease beats 40 times a second.
func BenchmarkBeat(b *testing.B) {
	server := redistest.Single(b)
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer client.Close()
	store, err := redisstore.Open(b.Context(), &redis.UniversalOptions{Addrs: []string{server.Addr()}}, redisstore.Options{Name: "beats"})
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close(b.Context())
	const nodes = 100
	var states []fleet.State
	for i := range nodes {
		st, err := store.Ports().Members.Join(b.Context(), fleet.Node{Name: fmt.Sprintf("node-%d.example.com", i), Weight: 1, Lease: time.Hour, Fingerprint: "0123456789abcdef"})
		if err != nil {
			b.Fatal(err)
		}
		states = append(states, st)
	}
	beat := func(i int) {
		st := &states[i%nodes]
		want := fleet.Parts / nodes
		next, err := store.Ports().Members.Beat(b.Context(), fleet.Beat{Fence: st.Fence, Want: want, Weight: 1, Seen: st.Beats, Says: []byte("123.4"),
			Asks: []fleet.Ask{{Budget: "", Total: 100, Rate: 1}}})
		if err != nil {
			b.Fatal(err)
		}
		*st = next
	}
	for i := range 2 * nodes {
		beat(i)
	}
	before := cpuTime(b, client)
	for i := 0; b.Loop(); i++ {
		beat(i)
	}
	b.ReportMetric((cpuTime(b, client)-before)/float64(b.N), "CPU-µs/beat")
}

// cpuTime is what a server has used of its core, in µs.
func cpuTime(b *testing.B, client *redis.Client) (sum float64) {
	info, err := client.Info(b.Context(), "cpu").Result()
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(info) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if name == "used_cpu_user_main_thread" || name == "used_cpu_sys_main_thread" {
			seconds, err := strconv.ParseFloat(value, 64)
			if err != nil {
				b.Fatal(err)
			}
			sum += seconds * 1e6
		}
	}
	return sum
}
