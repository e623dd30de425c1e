package enginehttp_test

import (
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/enginehttp"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// A node that has lost its fleet says so, as one whose store is away says that.
func TestProbesTellOfNoContact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(memory.Options{})
		var nodes []*streamwatch.Engine
		for range 2 { // the second takes the name of the first
			e, err := streamwatch.New(streamwatch.Config{
				Fetcher: enginetest.NewPlatform(enginetest.PlatformConfig{}), Store: store, Fleet: &streamwatch.FleetConfig{Name: "a"},
			})
			if err != nil {
				t.Fatal(err)
			}
			if err := e.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			nodes = append(nodes, e)
		}
		synctest.Wait()
		timer := time.NewTimer(30 * time.Second)
		<-timer.C
		rec := httptest.NewRecorder()
		enginehttp.NewProbes(nodes[0], nil).Ready(rec, httptest.NewRequest("GET", "/readyz", nil))
		if rec.Code != 503 || !strings.Contains(rec.Body.String(), "no contact with its fleet") {
			t.Errorf("readyz %d %q, want what is wrong", rec.Code, rec.Body)
		}
		for _, e := range nodes {
			if err := e.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
		}
	})
}
