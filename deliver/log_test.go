package deliver_test

import (
	"strings"
	"testing"

	"github.com/streamwatch/streamwatch/deliver"
)

// What stores select by says the same as ViaOf, whatever the id.
func TestWaysOfDelivery(t *testing.T) {
	ways := []deliver.Via{deliver.ViaWebhook, deliver.ViaHandler, deliver.ViaWebSocket}
	for id, want := range map[string]deliver.Via{
		"whk_abc": deliver.ViaWebhook, "": deliver.ViaWebhook, "handler": deliver.ViaWebhook, "websocket/acme": deliver.ViaWebhook,
		"Handler:a": deliver.ViaWebhook,
		"handler:a": deliver.ViaHandler, "handler:": deliver.ViaHandler, "handler:websocket": deliver.ViaHandler, "handler:websockets/a": deliver.ViaHandler,
		"handler:websocket/": deliver.ViaWebSocket, "handler:websocket/acme": deliver.ViaWebSocket,
	} {
		if got := deliver.ViaOf(id); got != want {
			t.Errorf("ViaOf(%q) = %q, want %q", id, got, want)
		}
		for _, way := range ways {
			with, without := way.Prefixes()
			selected := strings.HasPrefix(id, with) && (without == "" || !strings.HasPrefix(id, without))
			if selected != (way == want) {
				t.Errorf("%q is selected for %q by %q and not %q: %t", id, way, with, without, selected)
			}
		}
	}
	if with, without := deliver.Via("").Prefixes(); with != "" || without != "" {
		t.Errorf("all ways: %q, %q, want no condition", with, without)
	}
}
