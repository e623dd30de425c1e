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
		{"a ledger", "-ledger 5000 -kills 50", options{kind: kindSQLite, kills: 50, seed: 1, ledger: 5000}.shared(), ""},
		{"more kills than a ledger has time for", "-ledger 5000 -kills 51", options{}, "-ledger 5000 is not allowed: want 0, or 100 for each kill"},
		{"more than a ledger keeps", "-ledger 1000001 -kills 1", options{}, "-ledger 1000001 is not allowed"},
		{"a store that loses everything", "-store memory", options{}, `-store "memory" is not allowed`},
		{"a fleet", "-fleet 4 -store cluster -handovers 10000 -plant early", options{kind: kindCluster, kills: 1000, seed: 1, fleet: 4, handovers: 10_000, plant: plantEarly}.shared(), ""},
		{"a fleet that fails over", "-fleet 4 -store redis -handovers 10000 -failovers 50", options{kind: kindRedis, kills: 1000, seed: 1, fleet: 4, handovers: 10_000, failovers: 50}.shared(), ""},
		{"a fleet of engines", "-fleet 3 -store redis -kills 300 -pauses 200 -cuts 100", options{kind: kindRedis, kills: 300, seed: 1, fleet: 3, pauses: 200, cuts: 100}.shared(), ""},
		{"a file that is cut off", "-fleet 2 -cuts 1", options{}, "-cuts 1 is not allowed with -store sqlite: want redis"},
		{"hand-overs with cuts", "-fleet 2 -store redis -handovers 1 -cuts 1", options{}, "-handovers is not allowed with -pauses and -cuts"},
		{"engines on a cluster", "-fleet 2 -store cluster", options{}, "-handovers is missing"},
		{"a fleet of one", "-fleet 1 -handovers 1", options{}, "-fleet 1 is not allowed: want 2 to 64"},
		{"fewer than no hand-overs", "-fleet 2 -handovers -1", options{}, "-handovers -1 is not allowed: want 0, for engines, to"},
		{"a fleet of processes in memory", "-fleet 2 -store memory -handovers 1", options{}, `-store "memory" is not allowed: want cluster or sqlite or redis`},
		{"a file that fails over", "-fleet 2 -handovers 1 -failovers 1", options{}, "-failovers 1 is not allowed with -store sqlite"},
		{"a fault that nobody knows", "-fleet 2 -handovers 1 -plant rats", options{}, `-plant "rats" is not allowed: want nofence or early`},
		{"hand-overs without a fleet", "-handovers 1", options{}, "-fleet 0 is not allowed"},
		{"a ledger of a fleet", "-fleet 2 -handovers 1 -ledger 100000", options{}, "-ledger 100000 is not allowed with -fleet"},
		{"a cluster without a fleet", "-store cluster", options{}, `-store "cluster" is not allowed: want sqlite or redis`},
		{"no kills", "-kills 0", options{}, "-kills 0 is not allowed"},
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
