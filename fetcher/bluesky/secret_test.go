package bluesky_test

import (
	"strings"
	"testing"

	"github.com/streamwatch/streamwatch/fetcher/bluesky"
)

func TestRefusedAddressesShowNoPassword(t *testing.T) {
	_, jetstream := bluesky.NewJetstream(bluesky.JetstreamConfig{URL: "wss://me:hunter2@example.com/subscribe"})
	_, repos := bluesky.NewRepos(bluesky.ReposConfig{PDS: "https://me:hunter2@example.com"})
	for _, err := range []error{jetstream, repos} {
		if err == nil || !strings.Contains(err.Error(), "example.com") || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("error %v, want one with the host and without the password", err)
		}
	}
}
