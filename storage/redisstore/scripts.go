package redisstore

import (
	"embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

//go:embed lua/*.lua
var sources embed.FS

// script is a Lua script with what it stands on and the keys that it declares.
// A file says "-- uses:" and names other files, which come before it once, and
// "-- keys:" for those it reads or writes; one with a star is of a kind of
// records. All that it can reach is in the table K made of the declared keys.
type script struct {
	name   string
	source string
	hash   string // by which the server knows it
	keys   []string
	ofKind bool // some of the keys are of a kind of records
	writes bool // has a token that is remembered
	clock  bool // takes the store's time first
	limits bool // takes its limits next
}

// scriptNames are the files that are run, some after another one; the others
// are parts of them.
var scriptNames = []string{
	"open",
	"records_create", "records_get", "records_update", "records_delete", "records_list", "records_scan", "records_find",
	"endpoints_create", "endpoints_get", "endpoints_list", "endpoints_scan", "endpoints_update", "endpoints_delete",
	"journal_cursors",
	"outbox_claim", "outbox_settle", "outbox_next", "outbox_reopen",
	"log_page", "log_scan", "log_entries", "log_events",
	"replays_start", "replays_get", "replays_running", "replays_step",
	"ledger_append", "ledger_reserve", "ledger_resolve", "ledger_balance", "ledger_page", "ledger_scan", "ledger_totals",
}

// scripts are put together once, when they are first needed.
var scripts = sync.OnceValue(func() map[string]*script {
	all := make(map[string]*script)
	for _, name := range scriptNames {
		all[name] = newScript(name)
	}
	for i := range commitScripts {
		all[commitScripts[i]] = newScript(commitScripts[i])
	}
	return all
})

// What a commit may have, as bits of a number.
const (
	withCharges = 1 << iota
	withReceivers
	withRemoval
)

// commitScripts are those of a commit, by what it has: the fewer parts, the less
// it costs.
var commitScripts = func() (names [8]string) {
	for has := range names {
		name := "journal_commit"
		for bit, part := range []string{"charges", "receivers", "removal"} {
			if has&(1<<bit) != 0 {
				name = part + "+" + name
			}
		}
		names[has] = name
	}
	return names
}()

func newScript(name string) *script {
	s := &script{name: name}
	var parts []string
	var include func(name string)
	done := map[string]bool{}
	include = func(name string) {
		if done[name] {
			return
		}
		done[name] = true
		text := partSource(name)
		for line := range strings.Lines(text) {
			if used, ok := strings.CutPrefix(line, "-- uses:"); ok {
				for _, part := range strings.Fields(used) {
					include(part)
				}
			}
			if keys, ok := strings.CutPrefix(line, "-- keys:"); ok {
				for _, key := range strings.Fields(keys) {
					if !slices.Contains(s.keys, key) {
						s.keys = append(s.keys, key)
					}
				}
			}
		}
		parts = append(parts, "-- "+name+"\n")
		for line := range strings.Lines(text) {
			// Those after which a part is asked for are included before.
			if _, part, ok := strings.Cut(line, " -- with "); !ok || done[strings.TrimSpace(part)] {
				parts = append(parts, line)
			}
		}
	}
	include("prologue")
	for part := range strings.SplitSeq(name, "+") {
		include(part)
	}
	s.writes, s.clock, s.limits = done["write"], done["now"], done["limits"]
	slices.Sort(s.keys)
	s.ofKind = slices.ContainsFunc(s.keys, func(key string) bool { return key[0] == '*' })

	var table strings.Builder
	table.WriteString("local K = {")
	for i, key := range s.keys {
		fmt.Fprintf(&table, " %s = KEYS[%d],", strings.TrimPrefix(key, "*"), i+1)
	}
	table.WriteString(" }\n")
	s.source = table.String() + withoutUnused(strings.Join(parts, ""))
	s.hash = redis.NewScript(s.source).Hash()
	return s
}

// partSource is embedded: it is there, or a test of scriptNames fails.
func partSource(name string) string {
	text, err := sources.ReadFile("lua/" + name + ".lua")
	if err != nil {
		panic(fmt.Sprintf("redisstore: script %s: %v", name, err))
	}
	return string(text)
}

// keysOf gives the keys of a script in the store's hash slot, as the client wants
// them: those of a kind of records where it has a star.
func (s *Store) keysOf(sc *script, kind string) []any {
	if known, ok := s.keys.Load(sc); ok {
		return known.([]any)
	}
	keys := make([]any, len(sc.keys))
	for i, key := range sc.keys {
		if name, ofKind := strings.CutPrefix(key, "*"); ofKind {
			keys[i] = s.prefix + kind + ":" + name
		} else {
			keys[i] = s.prefix + key
		}
	}
	if !sc.ofKind {
		s.keys.Store(sc, keys)
	}
	return keys
}
