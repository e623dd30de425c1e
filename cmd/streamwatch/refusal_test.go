package main

import (
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/storage/sqlite"
)

// A flag of the wrong kind says what is allowed, as a variable and the file do.
func TestAFlagSaysWhatIsAllowed(t *testing.T) {
	for args, want := range map[string]string{
		"check -demo -interval 5":                      `-interval "5" is not allowed: want a duration such as 1m30s`,
		"check -demo -fleet=perhaps":                   `-fleet "perhaps" is not allowed: want true or false`,
		"check -demo -keyless many":                    `-keyless "many" is not allowed: want a whole number`,
		"check -demo -calls few":                       `-calls "few" is not allowed: want a number`,
		"check -demo -log-level loud":                  `-log-level "loud" is not allowed: want debug, info, warn or error`,
		"check -demo -origins foo":                     `-origins "foo" is not allowed: enginehttp: origin "foo" is not allowed: want a scheme`,
		"check -demo -addr nonsense":                   `-addr "nonsense" is not allowed: want host:port`,
		"check -demo -addr 127.0.0.1:none":             `-addr "127.0.0.1:none" is not allowed: want host:port`,
		"check -demo -ops-addr 127.0.0.1:99999":        `-ops-addr "127.0.0.1:99999" is not allowed: want host:port`,
		"check -demo -addr :0 -ops-addr [::1]:0":       "",
		"check -platform bluesky -addr localhost:http": "",
	} {
		err := run(t.Context(), process{noEnv, io.Discard, io.Discard}, strings.Fields(args))
		if want == "" && err != nil || want != "" && (err == nil || !strings.HasPrefix(err.Error(), want) || status(err) != 78) {
			t.Errorf("%s: error %v, want %q", args, err, want)
		}
	}
}

// Credits that are given in the wrong file are none: it says that there is no database.
func TestCreditsWantADatabase(t *testing.T) {
	db := filepath.Join(t.TempDir(), "mistyped.db")
	err := run(t.Context(), process{noEnv, io.Discard, io.Discard}, []string{"credits", "-db", db, "-owner", "acme", "-credits", "5"})
	if err == nil || !strings.Contains(err.Error(), "want a database that is there") {
		t.Errorf("error %v, want that there is no database", err)
	}
}

// A server that is started without -fleet beside a fleet is told of the flag.
func TestAServerBesideAFleetNamesTheFlag(t *testing.T) {
	db := filepath.Join(t.TempDir(), "a.db")
	store, err := sqlite.Open(t.Context(), db, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close(t.Context())
	node, err := streamwatch.New(streamwatch.Config{
		Fetcher: enginetest.NewPlatform(enginetest.PlatformConfig{}), Store: store, Fleet: &streamwatch.FleetConfig{Name: "a"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := node.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer node.Shutdown(t.Context())
	err = run(t.Context(), process{noEnv, io.Discard, io.Discard}, []string{"serve", "-platform", "bluesky", "-addr", "127.0.0.1:0", "-db", db})
	if err == nil || !strings.HasPrefix(err.Error(), "-fleet is missing") {
		t.Errorf("error %v, want one that names -fleet", err)
	}
}
