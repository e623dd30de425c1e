package recorder_test

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect/recorder"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/monitor"
)

// Record, dump, play. In a test, enginetest.Replay(t, &dump) is the last step.
func Example() {
	platform, found := enginetest.NewPlatform(enginetest.PlatformConfig{}), make(chan string, 1)
	rec, _ := recorder.New(recorder.Options{})
	engine, _ := streamwatch.New(rec.Wrap(streamwatch.Config{
		Fetcher: platform,
		OnEvent: func(_ context.Context, e deliver.Event) error { found <- e.TextPreview; return nil },
	}))
	ctx := context.Background()
	_ = engine.Start(ctx)
	_, _ = engine.Monitors().Create(ctx, monitor.CreateRequest{Name: "space", Usernames: enginetest.AccountNames(1), PollInterval: time.Second})
	platform.Post(enginetest.AccountNames(1)[0], "Lift-off")
	fmt.Println(<-found)
	_ = engine.Shutdown(ctx)

	var dump bytes.Buffer
	_ = rec.Dump(&dump)
	recording, _ := recorder.Read(&dump)
	played, err := recording.Play()
	fmt.Println(played.Accounts, "account,", len(played.Differences), "differences,", err)
	// Output:
	// Lift-off
	// 1 account, 0 differences, <nil>
}
