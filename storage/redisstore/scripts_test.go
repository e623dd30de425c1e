package redisstore

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Redis Cluster lets scripts touch only keys that were declared, and all in one
// slot; a single server does not say. A script names keys as K.name, and helpers
// call theirs key; K has nothing but what is declared.
func TestScriptsTouchDeclaredKeysOnly(t *testing.T) {
	calls := regexp.MustCompile(`\b(?:call|many)\(\s*'[A-Z]+',\s*([^,)]+)`)
	reads := regexp.MustCompile(`\b(?:get|among|page|scan|head|drop|forget_ids|remember)\((\S+?)[,)]`)
	named := regexp.MustCompile(`\bK\.(\w+)`)
	for name, s := range scripts() {
		t.Run(name, func(t *testing.T) {
			code := regexp.MustCompile(`--[^\n]*`).ReplaceAllString(s.source, "")
			if strings.Contains(code, "redis.pcall") || strings.Count(code, "redis.call") != 1 || strings.Count(code, "KEYS") != len(s.keys) {
				t.Error("keys are given and commands made in one way only: K and call")
			}
			declared := map[string]bool{}
			for _, key := range s.keys {
				declared[strings.TrimPrefix(key, "*")] = true
			}
			for _, m := range named.FindAllStringSubmatch(code, -1) {
				if !declared[m[1]] {
					t.Errorf("K.%s is not declared", m[1])
				}
			}
			for _, m := range append(calls.FindAllStringSubmatch(code, -1), reads.FindAllStringSubmatch(code, -1)...) {
				if key := strings.TrimSpace(m[1]); key != "key" && key != "order" && !strings.HasPrefix(key, "K.") {
					t.Errorf("%s: a key is K.name, or a helper's parameter key or order", m[0])
				}
			}
		})
	}
}

// What a script writes before its answer would be left behind by a refusal.
func TestScriptsAnswerBeforeTheyWrite(t *testing.T) {
	writes := regexp.MustCompile(`\b(?:call|many)\('(HSET|HDEL|HINCRBY|ZADD|ZREM|RPUSH|LPUSH|LTRIM|SET|PEXPIRE)'|\b(save|relink|rebind|keep_\w+|tidy_\w+|remove_\w+)\(`)
	for name, s := range scripts() {
		body := partSource(name[strings.LastIndex(name, "+")+1:])
		first := writes.FindStringIndex(body)
		switch at := strings.Index(body, "answer("); {
		case name == "open": // which is for nothing but to write
		case !s.writes && (first != nil || at >= 0):
			t.Errorf("%s writes, and does not use write.lua", name)
		case s.writes && (at < 0 || first == nil || first[0] < at):
			t.Errorf("%s has to call answer, once all is decided, before it writes", name)
		}
	}
}

func TestEveryScriptFileIsUsed(t *testing.T) {
	files, err := os.ReadDir("lua")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		part := "-- " + strings.TrimSuffix(f.Name(), ".lua") + "\n"
		used := false
		for _, s := range scripts() {
			used = used || strings.Contains(s.source, part)
		}
		if !used {
			t.Errorf("lua/%s is no script and no part of one", f.Name())
		}
	}
}

// Who asks for a number looks so far back for the run that has it.
func TestRunsAreAsLongAsScriptsLookBack(t *testing.T) {
	if want := fmt.Sprintf("local LONGEST = %d\n", longestRun); !strings.Contains(partSource("journal"), want) {
		t.Errorf("lua/journal.lua does not say %q", want)
	}
}

func TestKeysAreInOneSlot(t *testing.T) {
	s := &Store{prefix: "{one}:", client: "me"}
	for name, sc := range scripts() {
		var keys []string
		for _, key := range s.keysOf(sc, "rules") {
			keys = append(keys, key.(string))
		}
		if len(keys) != len(slices.Compact(slices.Sorted(slices.Values(keys)))) {
			t.Errorf("%s: a key is there twice: %v", name, keys)
		}
		for _, key := range keys {
			if !strings.HasPrefix(key, "{one}:") {
				t.Errorf("%s: key %s is outside of the store's slot", name, key)
			}
		}
	}
}

// A script has the functions and names that it uses, if only in others, and no more.
func TestUnusedLocalsAreLeftOut(t *testing.T) {
	const source = `local K = {}
-- first, of others: inner
local call = redis.call
local sub = string.sub
local find = string.find
local function inner(x) return sub(x, 1) end
local function used(x)
	local find = x

	return inner(find)
end
local function recursive(x) return recursive(x) end
-- unused
local function unused(x)
	return call(x)
end
local now = ARGV[1]
local version = call('GET', K.version)
return used(now)
`
	want := source
	for _, gone := range []string{
		"local function recursive(x) return recursive(x) end\n",
		"local function unused(x)\n\treturn call(x)\nend\n",
	} {
		want = strings.Replace(want, gone, "", 1)
	}
	if got := withoutUnused(source); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := withoutUnused("return 1"); got != "return 1" {
		t.Errorf("got %q", got)
	}
}
