package main

import (
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

// The test binary is also the process that is killed.
func TestMain(m *testing.M) {
	if setting, ok := os.LookupEnv(childVariable); ok {
		os.Exit(childStatus(runChild(setting)))
	}
	goleak.VerifyTestMain(m)
}

func TestParse(t *testing.T) {
	for _, row := range []struct {
		name, args string
		want       options
		err        string // part of the error, "" for none
	}{
		{"defaults", "", options{kind: kindSQLite, kills: 1000, seed: 1}.shared(), ""},
		{"all set", "-store redis -kills 300 -seed 7 -json", options{kind: kindRedis, kills: 300, seed: 7, json: true}.shared(), ""},
		{"hand-overs", "-fleet 4 -store redis -handovers 10000 -plant nofence", options{kind: kindRedis, kills: 1000, seed: 1, fleet: 4, handovers: 10_000, plant: plantNoFence}.shared(), ""},
		{"a fleet of engines", "-fleet 3 -store redis -kills 300 -pauses 200 -cuts 100", options{kind: kindRedis, kills: 300, seed: 1, fleet: 3, pauses: 200, cuts: 100}.shared(), ""},
		{"a fleet on PostgreSQL", "-fleet 3 -store postgres", options{kind: kindPostgres, kills: 1000, seed: 1, fleet: 3}.shared(), ""},
		{"a store that loses everything", "-store memory", options{}, `-store "memory" is not allowed: want sqlite or redis or postgres`},
		{"a fleet on a file", "-fleet 2", options{}, "-fleet is not allowed with -store sqlite: want redis or postgres"},
		{"hand-overs with cuts", "-fleet 2 -store redis -handovers 1 -cuts 1", options{}, "-handovers is not allowed with -pauses and -cuts"},
		{"a fleet of one", "-fleet 1 -store redis", options{}, "-fleet 1 is not allowed: want 2 to 64"},
		{"fewer than no hand-overs", "-fleet 2 -store redis -handovers -1", options{}, "-handovers -1 is not allowed: want 0 to"},
		{"a fault that nobody knows", "-fleet 2 -store redis -handovers 1 -plant rats", options{}, `-plant "rats" is not allowed: want nofence`},
		{"hand-overs without a fleet", "-store redis -handovers 1", options{}, "-fleet is missing"},
		{"no kills", "-kills 0", options{}, "-kills 0 is not allowed: want 1 to"},
		{"an argument", "sqlite", options{}, `argument "sqlite" is not allowed`},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, err := parse(strings.Fields(row.args))
			if row.err != "" {
				if err == nil || !strings.Contains(err.Error(), row.err) {
					t.Errorf("error %v, want %q", err, row.err)
				}
				return
			}
			if err != nil || got != row.want {
				t.Errorf("got %+v, %v, want %+v", got, err, row.want)
			}
		})
	}
}

func TestCommandRefuses(t *testing.T) {
	var out, trouble strings.Builder
	if status := command([]string{"-kills", "-1"}, &out, &trouble); status != 2 || !strings.Contains(trouble.String(), "-kills -1") {
		t.Errorf("status %d, said %q", status, trouble.String())
	}
}
