package simulation

import (
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/monitor"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newEngine(t *testing.T, cfg streamwatch.Config) *streamwatch.Engine {
	t.Helper()
	e, err := streamwatch.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func create(t *testing.T, e *streamwatch.Engine, r monitor.CreateRequest) monitor.Created {
	t.Helper()
	m, err := e.Monitors().Create(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}
