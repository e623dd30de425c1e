package engineotel_test

import (
	"context"
	"fmt"
	"log"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/engineotel"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/monitor"
)

// A program chooses the exporter; here it is one that keeps the spans.
func ExampleTracer() {
	spans := tracetest.NewInMemoryExporter()
	tp := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans), sdktrace.WithIDGenerator(engineotel.IDs()))
	platform := enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"nasa"}})
	handled := make(chan string, 1)
	tracer, err := engineotel.New(engineotel.Options{TracerProvider: tp, Ratio: 1})
	if err != nil {
		log.Fatal(err)
	}
	engine, err := streamwatch.New(tracer.Instrument(streamwatch.Config{
		Fetcher: platform,
		OnEvent: func(_ context.Context, e deliver.Event) error {
			handled <- e.TextPreview
			return nil
		},
		MinInterval: 100 * time.Millisecond,
	}))
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Watch(tracer.Detected)()
	ctx := context.Background()
	if err := engine.Start(ctx); err != nil {
		log.Fatal(err)
	}
	request := monitor.CreateRequest{Name: "space", Usernames: []string{"nasa"}, PollInterval: 100 * time.Millisecond}
	if _, err := engine.Monitors().Create(ctx, request); err != nil {
		log.Fatal(err)
	}
	platform.Post("nasa", "Lift-off")
	fmt.Println(<-handled)
	if err := engine.Shutdown(ctx); err != nil {
		log.Fatal(err)
	}

	var detected tracetest.SpanStub
	for _, s := range spans.GetSpans() {
		if s.Name == "detect post" {
			detected = s
		}
	}
	for _, s := range spans.GetSpans() {
		if s.Parent.SpanID() == detected.SpanContext.SpanID() {
			fmt.Println(detected.Name, "/", s.Name)
		}
	}
	// Output:
	// Lift-off
	// detect post / fetch
	// detect post / commit
	// detect post / process event
}
