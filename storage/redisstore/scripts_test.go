package redisstore

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Redis Cluster lets scripts use only declared keys, all in one slot; a single server does
// not check. Scripts use keys as K.name, which declares them, and helpers as their parameter key.
func TestScriptsTouchDeclaredKeysOnly(t *testing.T) {
	calls := regexp.MustCompile(`\b(?:call|many)\(\s*'[A-Z]+',\s*([^,)]+)`)
	reads := regexp.MustCompile(`\b(?:get|among|page|scan|head|drop|forget_ids|remember)\((\S+?)[,)]`)
	for name, s := range scripts() {
		t.Run(name, func(t *testing.T) {
			code := regexp.MustCompile(`--[^\n]*`).ReplaceAllString(s.source, "")
			if strings.Contains(code, "redis.pcall") || strings.Count(code, "redis.call") != 1 || strings.Count(code, "KEYS") != len(s.keys) {
				t.Error("want keys used only through K, and commands only through call")
			}
			for _, m := range append(calls.FindAllStringSubmatch(code, -1), reads.FindAllStringSubmatch(code, -1)...) {
				if key := strings.TrimSpace(m[1]); key != "key" && key != "order" && !strings.HasPrefix(key, "K.") {
					t.Errorf("%s: a key is K.name, or a helper's parameter key or order", m[0])
				}
			}
		})
	}
}

// A script writes its answer first: a write before it would stay if that was refused.
func TestScriptsAnswerBeforeTheyWrite(t *testing.T) {
	writes := regexp.MustCompile(`\b(?:call|many)\('(HSET|HDEL|HINCRBY|ZADD|ZREM|RPUSH|LPUSH|LTRIM|LSET|SET|PEXPIRE)'|\b(save|relink|keep_\w+|remove_\w+)\(`)
	for name, s := range scripts() {
		files := strings.Fields(scriptFiles[name])
		body := luaFile(files[len(files)-1])
		first := writes.FindStringIndex(body)
		switch at := strings.Index(body, "answer("); {
		case name == "open" || name == "copy_begin": // writes without keeping an answer
		case !s.writes && (first != nil || at >= 0):
			t.Errorf("%s writes, and does not use write.lua", name)
		case s.writes && (at < 0 || first == nil || first[0] < at):
			t.Errorf("%s has to call answer, once all is decided, before it writes", name)
		}
	}
}

func TestEveryScriptFileIsUsed(t *testing.T) {
	used := map[string]bool{"base.lua": true}
	for _, script := range scriptFiles {
		for file := range strings.FieldsSeq(script) {
			used[file+".lua"] = true
		}
	}
	files, err := os.ReadDir("lua")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !used[f.Name()] {
			t.Errorf("lua/%s is not in a script", f.Name())
		}
		delete(used, f.Name())
	}
	for name := range used {
		t.Errorf("lua/%s is not there", name)
	}
}

// A script has exactly the files that it needs, in the order in which it needs them.
func TestScriptsHaveWhatTheyUse(t *testing.T) {
	comments := regexp.MustCompile(`--[^\n]*|'[^'\n]*'`)
	word := regexp.MustCompile(`[\w.]+\(?`)
	declaration := regexp.MustCompile(`(?:local function (\w+)|local ([\w, ]+)|for ([\w, ]+) (?:in|=))`)
	top := regexp.MustCompile(`(?m)^local function (\w+)|^local ([\w, ]+)`)
	lua := []string{"tonumber", "type", "ipairs", "pairs", "unpack", "error", "function"}
	for name, script := range scriptFiles {
		t.Run(name, func(t *testing.T) {
			known := map[string]bool{}
			for _, name := range lua {
				known[name] = true
			}
			files := strings.Fields("base " + script)
			for i, file := range files {
				code := comments.ReplaceAllString(luaFile(file), "")
				for line := range strings.Lines(code) {
					for _, m := range declaration.FindAllStringSubmatch(line, -1) {
						for name := range strings.FieldsFuncSeq(m[1]+","+m[2]+","+m[3], func(r rune) bool { return r == ',' || r == ' ' }) {
							known[name] = true
						}
					}
					for _, w := range word.FindAllString(line, -1) {
						if name, called := strings.CutSuffix(w, "("); called && !known[name] && !strings.Contains(name, ".") {
							t.Errorf("lua/%s.lua calls %s, which no file before it defines", file, name)
						}
					}
				}
				if i == 0 || i == len(files)-1 {
					continue
				}
				var later string
				for _, after := range files[i+1:] {
					later += comments.ReplaceAllString(luaFile(after), "")
				}
				used := false
				for _, m := range top.FindAllStringSubmatch(code, -1) {
					for name := range strings.FieldsFuncSeq(m[1]+","+m[2], func(r rune) bool { return r == ',' || r == ' ' }) {
						used = used || regexp.MustCompile(`\b`+name+`\b`).MatchString(later)
					}
				}
				if !used {
					t.Errorf("nothing uses lua/%s.lua", file)
				}
			}
		})
	}
}

// The documentation names exactly the keys that the scripts use.
func TestKeysAreDocumented(t *testing.T) {
	source, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	_, data, _ := strings.Cut(string(source), "# The data")
	documented := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^//\t([a-z]+) +(?:h|z|l|text)  `).FindAllStringSubmatch(data, -1) {
		documented[m[1]] = true
	}
	used := map[string]bool{}
	for _, sc := range scripts() {
		for _, key := range sc.keys {
			used[key] = true
		}
	}
	if !maps.Equal(documented, used) {
		t.Errorf("doc.go names the keys %v, the scripts use %v", documented, used)
	}
}

// Scripts look back for the run that has a number by as many numbers as a run can have.
func TestRunsAreAsLongAsScriptsLookBack(t *testing.T) {
	if want := fmt.Sprintf("local LONGEST = %d\n", longestRun); !strings.Contains(luaFile("runs"), want) {
		t.Errorf("lua/runs.lua does not say %q", want)
	}
}

func TestKeysAreInOneSlot(t *testing.T) {
	s := &Store{prefix: "{one}:", client: "me"}
	for name, sc := range scripts() {
		var keys []string
		for _, key := range s.keysOf(sc) {
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
