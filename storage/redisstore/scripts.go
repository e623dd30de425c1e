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
var sources embed.FS

// script is a Lua script with what it stands on and the keys that it declares.
// A file says "-- uses:" and names other files, which come before it once, and
// "-- keys:" for those it reads or writes; one with a star is of a kind of
// records. All that it can reach is in the table K made of the declared keys.
type script struct {
	*redis.Script
	name   string
	source string
	keys   []string
	writes bool // has a token that is remembered
	clock  bool // takes the store's time first
	limits bool // takes its limits next
}

// scriptNames are the files that are run, some after another one; the others
// are parts of them.
var scriptNames = []string{
	"open",
	"records_create", "records_get", "records_update", "records_delete", "records_list", "records_scan", "records_find",
	"endpoints_create", "endpoints_get", "endpoints_list", "endpoints_update", "endpoints_delete",
	"journal_cursors",
	"outbox_claim", "outbox_settle", "outbox_next", "outbox_reopen",
	"log_page", "log_scan", "log_entries", "log_events",
	"ledger_append", "ledger_reserve", "ledger_resolve", "ledger_balance", "ledger_page", "ledger_scan",
}

// scripts are put together once, when they are first needed.
var scripts = sync.OnceValue(func() map[string]*script {
	all := make(map[string]*script)
	for _, name := range scriptNames {
		all[name] = newScript(name)
	}
	for i := range 8 {
		name := commitScript(i&1 > 0, i&2 > 0, i&4 > 0)
		all[name] = newScript(name)
	}
	return all
})

// commitScript names the script of a commit: the fewer parts it has, the less it
// costs.
func commitScript(charges, receivers, removal bool) string {
	name := "journal_commit"
	for _, part := range []struct {
		name string
		has  bool
	}{{"charges", charges}, {"receivers", receivers}, {"removal", removal}} {
		if !part.has {
			part.name = "no" + part.name
		}
		name = part.name + "+" + name
	}
	return name
}

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
		parts = append(parts, "-- "+name+"\n", text)
	}
	include("prologue")
	for part := range strings.SplitSeq(name, "+") {
		include(part)
	}
	s.writes, s.clock, s.limits = done["write"], done["now"], done["limits"]
	slices.Sort(s.keys)

	var table strings.Builder
	table.WriteString("local K = {")
	for i, key := range s.keys {
		fmt.Fprintf(&table, " %s = KEYS[%d],", strings.TrimPrefix(key, "*"), i+1)
	}
	table.WriteString(" }\n")
	s.source = table.String() + withoutUnused(strings.Join(parts, ""))
	s.Script = redis.NewScript(s.source)
	return s
}

var (
	luaFunction = regexp.MustCompile(`(?m)^local function \w+\(.* end\n|^local function \w+\(.*\n(?:\t.*\n|\n)*end\n`)
	luaComment  = regexp.MustCompile(`--[^\n]*`)
)

// withoutUnused leaves out the functions that a script does not call: Lua makes
// all that it has anew in every call.
func withoutUnused(source string) string {
	for {
		code := luaComment.ReplaceAllString(source, "")
		kept := luaFunction.ReplaceAllStringFunc(source, func(function string) string {
			name, _, _ := strings.Cut(strings.TrimPrefix(function, "local function "), "(")
			if len(regexp.MustCompile(`\b`+name+`\b`).FindAllStringIndex(code, 2)) > 1 {
				return function
			}
			return ""
		})
		if kept == source {
			return source
		}
		source = kept
	}
}

// partSource is embedded: it is there, or a test of scriptNames fails.
func partSource(name string) string {
	text, err := sources.ReadFile("lua/" + name + ".lua")
	if err != nil {
		panic(fmt.Sprintf("redisstore: script %s: %v", name, err))
	}
	return string(text)
}

// keysOf gives the keys of a script in the store's hash slot: those of a kind of
// records where it has a star, and the replies of this store.
func (s *Store) keysOf(sc *script, kind string) []string {
	keys := make([]string, len(sc.keys))
	for i, key := range sc.keys {
		switch name, ofKind := strings.CutPrefix(key, "*"); {
		case ofKind:
			keys[i] = s.prefix + kind + ":" + name
		case key == "replies":
			keys[i] = s.prefix + "replies:" + s.client
		default:
			keys[i] = s.prefix + key
		}
	}
	return keys
}
