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
var luaFiles embed.FS

// luaKeys lists the keys that each Lua file reads or writes. A star stands for the kind of records:
// *names is monitors:names for monitors.
var luaKeys = map[string]string{
	// Parts of several scripts.
	"base":            "",
	"lists":           "",
	"times":           "",
	"record":          "*meta",
	"write":           "journal clients version",
	"endpoint":        "journal endpoints endpointorder",
	"runs":            "",
	"settled":         "settled",
	"queue":           "queue lanes turns",
	"parts":           "",
	"delivery":        "queue deliveries others",
	"reopen":          "queue deliveries others log settledagain",
	"replay":          "replays replaysdue",
	"log":             "events deliveries attempts",
	"account":         "balances totals entries entriesgone ledger entryorder holds expiring resolved resolvedorder",
	"charges":         "",
	"count":           "count",
	"changes":         "count changes",
	"members":         "members count",
	"terms":           "members journal count",
	"receivers":       "deliveries log others queue",
	"no_receivers":    "",
	"no_removal":      "",
	"removal":         "",
	"removal_entries": "entries ledger entryorder entriesgone entriesgoneorder resolved resolvedorder",
	"removal_events":  "journal settled settledagain settledof events firsts deliveries attempts log forgottenorder",

	// The scripts.
	"open":             "version journal clients",
	"records_create":   "*records *meta *names *order",
	"records_get":      "*records",
	"records_update":   "*records *meta *names",
	"records_delete":   "*records *meta *names *order totals",
	"records_list":     "*records *meta *order",
	"records_scan":     "*records *order",
	"records_find":     "*records *names",
	"endpoints_create": "endpoints endpointorder urls",
	"endpoints_get":    "endpoints",
	"endpoints_list":   "endpoints endpointorder",
	"endpoints_scan":   "endpoints endpointorder",
	"endpoints_update": "urls",
	"endpoints_delete": "endpoints endpointorder urls queue deliveries replays replaysdue",
	"journal_commit":   "journal events members firsts",
	"journal_cursors":  "journal",
	"outbox_claim":     "turns lanes queue deliveries",
	"outbox_settle":    "deliveries attempts",
	"outbox_next":      "turns",
	"outbox_reopen":    "deliveries",
	"log_page":         "log",
	"log_scan":         "log deliveries events",
	"log_entries":      "",
	"log_events":       "journal events firsts",
	"replays_start":    "",
	"replays_get":      "",
	"replays_running":  "replaysdue",
	"replays_step":     "journal events deliveries log queue settledagain",
	"ledger_append":    "",
	"ledger_reserve":   "holds expiring",
	"ledger_resolve":   "",
	"ledger_expire":    "expiring",
	"ledger_balance":   "balances expiring holds",
	"ledger_page":      "ledger entries",
	"ledger_scan":      "ledger entries",
	"ledger_totals":    "totals",
	"members_join":     "members journal",
	"members_beat":     "members journal",
	"members_leave":    "",
	"members_look":     "",
	"feed_since":       "count changes",
	"feed_last":        "count",
	"answers":          "answers answerorder answersof answersbegun count",
	"answers_begin":    "",
	"answers_finish":   "answerorder answersof answersbegun count",
	"erase_answers":    "answersof answersbegun",
	"erase_records":    "*records *meta *names *order totals",
	"erase_endpoints":  "endpoints endpointorder urls journal replays replaysdue",
	"erase_deliveries": "log deliveries attempts others queue",
	"erase_events":     "journal firsts events settledagain settledof",
	"erase_list":       "settled entryorder changes",
	"erase_calls":      "clients journal",
	"erase_ledger":     "ledger entries balances",
	"erase_totals":     "totals",
	"erase_holds":      "holds expiring",
	"erase_cursors":    "journal",
}

// scriptFiles lists the Lua files of each script. Every script begins with base, which is not
// listed. A file may use definitions of the files before it.
var scriptFiles = map[string]string{
	"open": "open",

	"records_create": "write count changes records_create",
	"records_get":    "record records_get",
	"records_update": "write record changes records_update",
	"records_delete": "write record changes records_delete",
	"records_list":   "lists records_list",
	"records_scan":   "records_scan",
	"records_find":   "records_find",

	"endpoints_create": "write count changes endpoint endpoints_create",
	"endpoints_get":    "endpoint endpoints_get",
	"endpoints_list":   "endpoints_list",
	"endpoints_scan":   "endpoints_scan",
	"endpoints_update": "write changes endpoint endpoints_update",
	"endpoints_delete": "write changes endpoint runs settled queue delivery removal removal_events replay endpoints_delete",

	// Three variants of a commit: without deliveries, with deliveries, and with charges or removal
	// of old events. A call is faster if its script defines fewer functions.
	"journal_commit":            "write runs settled no_receivers no_removal journal_commit",
	"journal_commit_deliveries": "write runs settled count queue receivers no_removal journal_commit",
	"journal_commit_full":       "write runs settled count queue receivers account removal removal_entries removal_events charges journal_commit",
	"journal_cursors":           "journal_cursors",

	"outbox_claim":  "write queue parts log outbox_claim",
	"outbox_settle": "write runs settled queue delivery removal removal_events outbox_settle",
	"outbox_next":   "parts outbox_next",
	"outbox_reopen": "write settled queue delivery reopen outbox_reopen",

	"log_page":    "lists log log_page",
	"log_scan":    "lists times log_scan",
	"log_entries": "log log_entries",
	"log_events":  "runs log_events",

	"replays_start":   "write endpoint replay replays_start",
	"replays_get":     "replay replays_get",
	"replays_running": "replay replays_running",
	"replays_step":    "write count endpoint runs settled queue delivery reopen replay replays_step",

	"ledger_append":  "write count account removal removal_entries ledger_append",
	"ledger_reserve": "write count account removal removal_entries ledger_reserve",
	"ledger_resolve": "write count account removal removal_entries ledger_resolve",
	"ledger_expire":  "write count account removal removal_entries ledger_expire",
	"ledger_balance": "ledger_balance",
	"ledger_page":    "lists ledger_page",
	"ledger_scan":    "lists times ledger_scan",
	"ledger_totals":  "ledger_totals",

	"members_join":  "write members terms members_join",
	"members_beat":  "write members terms members_beat",
	"members_leave": "write members terms members_leave",
	"members_look":  "members members_look",
	"feed_since":    "feed_since",
	"feed_last":     "feed_last",

	"answers_begin":  "write answers answers_begin",
	"answers_finish": "write count answers answers_finish",

	"erase_answers":    "write answers erase_answers",
	"erase_records":    "write record erase_records",
	"erase_endpoints":  "write endpoint replay erase_endpoints",
	"erase_deliveries": "write settled queue delivery erase_deliveries",
	"erase_events":     "write runs erase_events",
	"erase_list":       "write erase_list",
	"erase_calls":      "write erase_calls",
	"erase_ledger":     "write erase_ledger",
	"erase_totals":     "write erase_totals",
	"erase_holds":      "write erase_holds",
	"erase_cursors":    "write erase_cursors",
}

// script is a Lua script as it is sent to the server.
type script struct {
	name   string
	source string
	hash   string   // its SHA-1, for EVALSHA
	keys   []string // the keys that it declares
	ofKind bool     // some of its keys depend on the kind of records
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

// newScript joins files into a script. It puts a table of the keys that they use first.
func newScript(name string, files []string) *script {
	s := &script{name: name, writes: slices.Contains(files, "write"), limits: slices.Contains(files, "removal")}
	source := ""
	for _, file := range files {
		source += luaFile(file)
		s.keys = append(s.keys, strings.Fields(luaKeys[file])...)
	}
	slices.Sort(s.keys)
	s.keys = slices.Compact(s.keys)
	s.ofKind = slices.ContainsFunc(s.keys, func(key string) bool { return key[0] == '*' })

	table := "local K = {"
	for i, key := range s.keys {
		table += fmt.Sprintf(" %s = KEYS[%d],", strings.TrimPrefix(key, "*"), i+1)
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

// keysOf returns the names of a script's keys in this store. kind replaces the star in a key.
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
