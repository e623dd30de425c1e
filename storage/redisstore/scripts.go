package redisstore

import (
	"embed"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

//go:embed lua/*.lua
var luaFiles embed.FS

// scriptFiles lists the Lua files of each script. Every script begins with base, which is not
// listed. A file may use definitions of the files before it.
var scriptFiles = map[string]string{
	"open":   "open",
	"fields": "fields",

	// Three variants of a commit: without deliveries, with deliveries, and with charges or removal
	// of old events. A call is faster if its script defines fewer functions.
	"journal_commit":            "write runs settled no_receivers no_removal journal_commit",
	"journal_commit_deliveries": "write runs settled count queue receivers no_removal journal_commit",
	"journal_commit_full":       "write runs settled count queue receivers amounts account removal removal_entries removal_events gone charges journal_commit",

	"outbox_claim":  "write queue parts log outbox_claim",
	"outbox_settle": "write runs settled queue delivery removal removal_events outbox_settle",
	"outbox_next":   "parts outbox_next",
	"outbox_reopen": "write settled queue delivery reopen outbox_reopen",

	"page":        "lists page",
	"log_scan":    "lists times log_scan",
	"log_entries": "log log_entries",
	"log_events":  "runs log_events",
	"log_waiting": "queue times log_waiting",

	"replays_start":   "write records replay replays_start",
	"replays_running": "replays_running",
	"replays_step":    "write runs count records settled queue delivery reopen replay replays_step",

	"ledger_append":  "write count amounts account removal removal_entries ledger_append",
	"ledger_reserve": "write count amounts account removal removal_entries ledger_reserve",
	"ledger_resolve": "write count amounts account removal removal_entries ledger_resolve",
	"ledger_balance": "ledger_balance",
	"ledger_scan":    "lists times ledger_scan",

	"members_join":  "write members terms members_join",
	"members_beat":  "write members terms members_beat",
	"members_leave": "write members terms members_leave",
	"members_look":  "members members_look",

	"apply":          "write count gone amounts records records_write settled queue delivery closing replay apply",
	"deliveries_end": "write settled queue delivery closing deliveries_end",
	"record_get":     "record_get",
	"record_list":    "lists record_list",
	"record_scan":    "lists record_scan",
	"record_since":   "record_since",
	"state_get":      "values state_get",
	"state_swap":     "write lists gone values state_swap",

	"copy_begin":   "copy_begin",
	"copy_write":   "write queue copying copy_write",
	"copy_records": "write amounts records records_write copying copy_records",
	"copy_finish":  "write copy_finish",

	"erase_values":     "write values erase erase_values",
	"erase_deliveries": "write settled queue delivery erase erase_deliveries",
	"erase_events":     "write runs erase erase_events",
	"erase_list":       "write erase erase_list",
	"erase_ledger":     "write erase erase_ledger",
	"erase_totals":     "write erase erase_totals",
	"erase_holds":      "write erase erase_holds",
	"erase_cursors":    "write erase erase_cursors",
}

// script is a Lua script as it is sent to the server.
type script struct {
	name   string
	source string
	hash   string   // its SHA-1, for EVALSHA
	keys   []string // the keys that it declares
	writes bool     // its arguments begin with the header of lua/write.lua
	limits bool     // the limits of lua/removal.lua follow the header
}

// scripts returns the scripts by name. They are built when they are first needed.
var scripts = sync.OnceValue(func() map[string]*script {
	all := make(map[string]*script)
	for name, files := range scriptFiles {
		all[name] = newScript(name, strings.Fields("base "+files))
	}
	return all
})

// usedKey matches a key in a Lua file.
var usedKey = regexp.MustCompile(`\bK\.(\w+)`)

// newScript joins files into a script. It puts a table of the keys that they name as K.key first.
func newScript(name string, files []string) *script {
	s := &script{name: name, writes: slices.Contains(files, "write"), limits: slices.Contains(files, "removal")}
	source := ""
	for _, file := range files {
		source += luaFile(file)
	}
	for _, m := range usedKey.FindAllStringSubmatch(source, -1) {
		s.keys = append(s.keys, m[1])
	}
	slices.Sort(s.keys)
	s.keys = slices.Compact(s.keys)

	table := "local K = {"
	for i, key := range s.keys {
		table += fmt.Sprintf(" %s = KEYS[%d],", key, i+1)
	}
	s.source = table + " }\n" + source
	s.hash = redis.NewScript(s.source).Hash()
	return s
}

// luaFile returns an embedded file. It panics if there is none; the tests check that all exist.
func luaFile(name string) string {
	text, err := luaFiles.ReadFile("lua/" + name + ".lua")
	if err != nil {
		panic(fmt.Sprintf("redisstore: script %s: %v", name, err))
	}
	return string(text)
}

// keysOf returns the names of a script's keys in this store.
func (s *Store) keysOf(sc *script) []any {
	if known, ok := s.keys.Load(sc); ok {
		return known.([]any)
	}
	keys := make([]any, len(sc.keys))
	for i, key := range sc.keys {
		keys[i] = s.prefix + key
		if key == "answers" {
			keys[i] = s.prefix + key + ":" + s.client
		}
	}
	s.keys.Store(sc, keys)
	return keys
}
