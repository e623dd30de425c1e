package engineprom_test

import (
	"fmt"
	"log"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/engineprom"
	"github.com/streamwatch/streamwatch/enginetest"
)

func ExampleNew() {
	engine, err := streamwatch.New(streamwatch.Config{Fetcher: enginetest.NewPlatform(enginetest.PlatformConfig{})})
	if err != nil {
		log.Fatal(err)
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(engineprom.New(engine))
	// mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))

	n, err := testutil.GatherAndCount(registry, "streamwatch_events_total")
	fmt.Println(n, err)
	// Output: 1 <nil>
}
