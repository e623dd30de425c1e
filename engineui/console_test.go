package engineui_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/engineui"
)

func TestConfigIsChecked(t *testing.T) {
	e := newEngine(t, streamwatch.Config{})
	for _, row := range []struct {
		name string
		cfg  engineui.Config
		want string
	}{
		{"no engine", engineui.Config{Authorize: engineui.AllowLoopback}, "Config.Engine is missing"},
		{"nobody says who may look", engineui.Config{Engine: e}, "Config.Authorize is missing"},
		{"two say it", engineui.Config{Engine: e, Authorize: engineui.AllowLoopback, Login: &engineui.KeyLogin{}}, "Config.Login is not allowed"},
		{"a login without keys", engineui.Config{Engine: e, Login: &engineui.KeyLogin{}}, "Config.Login.Auth is missing"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if _, err := engineui.New(row.cfg); err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("error %v, want %q", err, row.want)
			}
		})
	}
}

func TestPagesArePages(t *testing.T) {
	c := newConsole(t, engineui.Config{Engine: newEngine(t, streamwatch.Config{}), Authorize: byHeader})
	for _, path := range []string{"/"} {
		for _, viewer := range []string{"operator", "acme", "acme-reader"} {
			t.Run(viewer+" "+path, func(t *testing.T) {
				status, body := get(t, c, viewer, path)
				if status != http.StatusOK {
					t.Fatalf("status %d: %s", status, body)
				}
				wellFormed(t, body)
			})
		}
	}
}
