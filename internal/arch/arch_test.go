package arch_test

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

func TestArchitecture(t *testing.T) {
	tree := os.DirFS("../..")
	pkgs, err := readPackages(tree)
	if err != nil {
		t.Fatal(err)
	}
	if pkgs["fetcher"] == nil || pkgs["deliver"] == nil {
		t.Fatalf("the module tree was not read: found %d packages", len(pkgs))
	}
	for _, finding := range checkPackages(pkgs) {
		t.Error(finding)
	}
}

// The engine's dependencies as the go command resolves them, so that what the
// modules it requires import counts as well.
func TestCoreDependencies(t *testing.T) {
	deps := dependencies(t, ".")
	if !slices.Contains(deps, modulePath+"/fetcher") {
		t.Fatalf("go list named %d packages, without %s/fetcher", len(deps), modulePath)
	}
	for _, dep := range deps {
		if rule := forbiddenDependency(dep); rule != "" {
			t.Errorf("the engine depends on %s: %s must not reach the core (see go mod why %s)", dep, rule, dep)
		}
	}
}

// What a package must do without it does not reach through others either.
func TestForbiddenBelow(t *testing.T) {
	for dir, forbidden := range forbiddenBelow {
		deps := dependencies(t, "./"+dir)
		if !slices.Contains(deps, modulePath+"/"+dir) {
			t.Fatalf("go list named %d packages, without %s", len(deps), dir)
		}
		for _, dep := range forbidden {
			if slices.Contains(deps, dep) {
				t.Errorf("%s depends on %s", dir, dep)
			}
		}
	}
}

// go mod tidy also downloads what the tests of imported packages import. A program with the
// memory store downloads no other store, and one with another store only that.
func TestProgramsDownloadOnlyTheirStore(t *testing.T) {
	const sqlite, redis, miniredis, pgx = "modernc.org/", "github.com/redis/", "github.com/alicebob/", "github.com/jackc/"
	pkgs, err := readPackages(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	stores := map[string][]string{} // by store, the packages that only its users import; "memory" has all others
	for dir := range pkgs {
		store := "memory"
		for _, other := range []string{"sqlite", "redisstore", "postgres"} {
			if dir == "storage/"+other || strings.HasPrefix(dir, "storage/"+other+"/") {
				store = other
			}
		}
		if dir == "internal/pgtest" {
			store = "postgres"
		}
		if program := levelOf(dir) == len(levels)-1 || strings.HasPrefix(dir, "cmd/") || dir == "internal/stores"; !program {
			stores[store] = append(stores[store], "./"+dir)
		}
	}
	for store, forbidden := range map[string][]string{
		"memory":     {sqlite, redis, miniredis, pgx},
		"sqlite":     {redis, miniredis, pgx},
		"redisstore": {sqlite, pgx},
	} {
		deps := dependencies(t, append([]string{"-test"}, stores[store]...)...)
		if !slices.Contains(deps, modulePath+"/storage/"+store) || !slices.Contains(deps, "go.uber.org/goleak") {
			t.Fatalf("go list named %d packages, without storage/%s or goleak, which tests import", len(deps), store)
		}
		for _, module := range forbidden {
			if i := slices.IndexFunc(deps, func(dep string) bool { return strings.HasPrefix(dep, module) }); i >= 0 {
				t.Errorf("a program with storage/%s downloads %s for a test of a package that it imports: move the test into that store, or a package that nobody imports", store, deps[i])
			}
		}
	}
}

// dependencies lists what packages are linked with.
func dependencies(t *testing.T, args ...string) []string {
	t.Helper()
	if _, err := exec.LookPath("go"); err != nil {
		t.Skipf("the go command lists the dependencies: %v", err)
	}
	cmd := exec.Command("go", append([]string{"list", "-deps"}, args...)...)
	cmd.Dir = "../.."                             // the module's root
	cmd.Env = append(os.Environ(), "GOPROXY=off") // go test has downloaded all there is to list
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	switch said := stderr.String(); {
	case err == nil:
	case strings.Contains(said, "cache not found"), strings.Contains(said, "cache is required"), strings.Contains(said, "module lookup disabled"):
		t.Skipf("the go command has no caches to list the dependencies from: set HOME, or GOCACHE and GOMODCACHE: %s", said)
	default:
		t.Fatalf("go list -deps: %v: %s", err, said)
	}
	return strings.Fields(string(out))
}

// The pages that newcomers read first are short.
func TestPagesAreShort(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skipf("the go command prints the pages: %v", err)
	}
	const most = 150 // lines
	for _, pkg := range []string{".", "./detect", "./storage"} {
		cmd := exec.Command("go", "doc", pkg)
		cmd.Dir = "../.."
		page, err := cmd.Output()
		if lines := strings.Count(string(page), "\n"); err != nil || lines == 0 || lines > most {
			t.Errorf("go doc %s: %d lines, %v: want at most %d", pkg, lines, err, most)
		}
	}
}

func TestSourceHygiene(t *testing.T) {
	findings, err := checkSource(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	for _, finding := range findings {
		t.Error(finding)
	}
}

// soundTree is a small module that keeps every rule; the rows below plant one
// violation each.
func soundTree() fstest.MapFS {
	tree := fstest.MapFS{}
	for dir, src := range map[string]string{
		"fetcher":            "",
		"fetcher/upstream":   use("fetcher"),
		"fetcher/mastodon":   use("fetcher", "fetcher/upstream"),
		"deliver":            use("fetcher"),
		"deliver/wshub":      use("deliver"),
		"detect":             use("deliver"),
		"storage":            use("detect"),
		"storage/memory":     use("storage"),
		"enginetest":         use(".", "storage/memory"),
		"examples/first":     use(".", "enginetest"),
		"benchmarks/speed":   use("examples/first"),
		"detect/testdata/in": "import \"nowhere\"",
	} {
		name := dir[strings.LastIndex(dir, "/")+1:]
		tree[dir+"/doc.go"] = file("// Package " + name + " is sound.\npackage " + name + "\n" + src)
	}
	tree["doc.go"] = file("// Package streamwatch is sound.\npackage streamwatch\n" + use("detect", "storage"))
	tree["benchmarks/go.mod"] = file("module other")
	return tree
}

func file(src string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(src)} }

// use is an import declaration of packages of the module.
func use(dirs ...string) string {
	var b strings.Builder
	for _, dir := range dirs {
		b.WriteString("import _ \"" + strings.TrimSuffix(modulePath+"/"+dir, "/.") + "\"\n")
	}
	return b.String()
}

func TestArchitectureRules(t *testing.T) {
	for _, tc := range []struct {
		name, file, src string
		want            string // part of the only finding; "" when all is well
	}{
		{"a sound tree", "detect/more.go", "package detect", ""},
		{"storage above detect", "storage/more.go", "package storage\n" + use("detect"), ""},
		{"detect above storage", "detect/more.go", "package detect\n" + use("storage"), "imports storage, which is not below detect"},
		{"the same level", "fetcher/more.go", "package fetcher\n" + use("billing"), "imports billing, which is not below fetcher"},
		{"a backend in the core", "detect/more.go", "package detect\n" + use("storage/memory"), "imports storage/memory, which is not below detect"},
		{"one adapter in another", "fetcher/mastodon/more.go", "package mastodon\n" + use("fetcher/bluesky"), "imports fetcher/bluesky, which is not below fetcher/mastodon"},
		{"an adapter in their shared part", "fetcher/upstream/more.go", "package upstream\n" + use("fetcher/mastodon"), "imports fetcher/mastodon, which is not below fetcher/upstream"},
		{"deliver above its fan-out", "deliver/more.go", "package deliver\n" + use("deliver/wshub"), "imports deliver/wshub, which is not below deliver"},
		{"the engine in a backend", "storage/memory/more.go", "package memory\n" + use("."), "imports ., which is not below storage/memory"},
		{"another platform's file counts", "detect/more_windows.go", "//go:build windows\n\npackage detect\n" + use("storage"), "imports storage"},
		{"an ignored file does not", "detect/gen.go", "//go:build ignore\n\npackage main\n" + use("storage"), ""},
		{"a test may use the engine's test kit", "detect/x_test.go", "package detect_test\n" + use("enginetest", "storage/memory", "."), ""},
		{"a test may not use an example", "detect/x_test.go", "package detect_test\n" + use("examples/first"), "a test imports examples/first, which is above enginetest"},
		{"a package without a level", "newcomer/doc.go", "// Package newcomer is new.\npackage newcomer", "newcomer: has no level; add it to levels in internal/arch/rules_test.go"},
		{"a package below a backend", "storage/memory/heap/doc.go", "// Package heap is new.\npackage heap", "storage/memory/heap: has no level"},
		{"a new backend", "storage/sqlite/doc.go", "// Package sqlite is new.\npackage sqlite", ""},
		{"no doc.go", "storage/sqlite/store.go", "// Package sqlite is new.\npackage sqlite", "storage/sqlite: no package comment"},
		{"doc.go without a comment", "storage/sqlite/doc.go", "package sqlite", "storage/sqlite: no package comment"},
		{"a program's comment in main.go", "examples/second/main.go", "// Second shows more.\npackage main", ""},
		{"a program without a comment", "examples/second/main.go", "package main", "examples/second: no package comment"},
		{"a vague directory", "storage/util/doc.go", "// Package heap is a heap.\npackage heap", "storage/util: a package named util says nothing"},
		{"a vague package clause", "storage/x/doc.go", "// Package helpers helps.\npackage helpers", "storage/x: a package named helpers says nothing"},
		{"net/http in the platform seam", "fetcher/more.go", "package fetcher\nimport _ \"net/http\"", "fetcher/more.go: must not import net/http"},
		{"net/http elsewhere", "deliver/more.go", "package deliver\nimport _ \"net/http\"", ""},
		{"testing in the core", "deliver/more.go", "package deliver\nimport _ \"testing\"", "testing must not reach the core, yet it does: . → detect → deliver → testing"},
		{"testing/synctest in the core", "detect/more.go", "package detect\nimport _ \"testing/synctest\"", "testing must not reach the core"},
		{"httptest in the core", "more.go", "package streamwatch\nimport _ \"net/http/httptest\"", "net/http/httptest must not reach the core"},
		{"Redis in the core", "detect/more.go", "package detect\nimport _ \"github.com/redis/go-redis/v9\"", "go-redis must not reach the core"},
		{"a Redis double in the core", "detect/more.go", "package detect\nimport _ \"github.com/alicebob/miniredis/v2\"", "miniredis must not reach the core"},
		{"PostgreSQL in the core", "detect/more.go", "package detect\nimport _ \"github.com/jackc/pgx/v5/pgxpool\"", "pgx must not reach the core"},
		{"SQLite in the core", "storage/more.go", "package storage\nimport _ \"modernc.org/sqlite\"", "modernc.org/sqlite must not reach the core"},
		{"SQLite in a backend", "storage/memory/more.go", "package memory\nimport _ \"modernc.org/sqlite\"", ""},
		{"testing in the test kit", "enginetest/more.go", "package enginetest\nimport _ \"testing\"", "enginetest/more.go: must not import testing"},
		{"testing in a test", "detect/x_test.go", "package detect\nimport _ \"testing\"", ""},
		{"a name that only begins alike", "detect/more.go", "package detect\nimport _ \"testingx\"", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tree := soundTree()
			tree[tc.file] = file(tc.src)
			pkgs, err := readPackages(tree)
			if err != nil {
				t.Fatal(err)
			}
			expectOne(t, checkPackages(pkgs), tc.want)
		})
	}

	t.Run("internal as a package", func(t *testing.T) {
		tree := soundTree()
		tree["internal/doc.go"] = file("// Package internal is a heap.\npackage internal")
		pkgs, err := readPackages(tree)
		if err != nil {
			t.Fatal(err)
		}
		findings := checkPackages(pkgs)
		if !slices.ContainsFunc(findings, func(s string) bool { return strings.Contains(s, "holds packages and is none") }) {
			t.Errorf("findings %q do not name internal", findings)
		}
	})
}

func TestSourceHygieneRules(t *testing.T) {
	// In parts, so that this file passes the check it tests.
	sleep := "time." + "Sleep(1)"
	for _, tc := range []struct{ name, file, src, want string }{
		{"a sleep in a test", "detect/x_test.go", "package detect; func f() { " + sleep + " }", "detect/x_test.go: a test sleeps"},
		{"a sleep in a nested module's test", "benchmarks/speed/x_test.go", sleep, "benchmarks/speed/x_test.go: a test sleeps"},
		{"a sleep outside tests", "detect/x.go", sleep, ""},
		{"unfinished work", "detect/x.go", "// TO" + "DO: later", "detect/x.go: contains TO" + "DO"},
		{"a known fault", "detect/x_test.go", "// FIX" + "ME", "detect/x_test.go: contains FIX" + "ME"},
		{"another kind of file", "detect/notes.md", "FIX" + "ME", ""},
		{"a clean file", "detect/x.go", "package detect", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tree := soundTree()
			tree[tc.file] = file(tc.src)
			findings, err := checkSource(tree)
			if err != nil {
				t.Fatal(err)
			}
			expectOne(t, findings, tc.want)
		})
	}
}

// expectOne wants exactly one finding that contains want, or none for "".
func expectOne(t *testing.T, findings []string, want string) {
	t.Helper()
	switch {
	case want == "" && len(findings) > 0:
		t.Errorf("findings %q, want none", findings)
	case want != "" && (len(findings) != 1 || !strings.Contains(findings[0], want)):
		t.Errorf("findings %q, want one that contains %q", findings, want)
	}
}
