package arch_test

import (
	"fmt"
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const modulePath = "github.com/streamwatch/streamwatch"

// The shape of the module. A package imports only packages of earlier lines;
// a pattern's * stands for one path element. A new package goes on the line
// above everything it imports; a new backend, adapter or example is covered.
var levels = [][]string{
	{"secret", "latency", "fleet", "record", "internal/invalid", "internal/netguard/ssrftest", "internal/crashpoint", "internal/batch", "internal/planted", "internal/heard", "internal/manual", "internal/testsize", "internal/pgtest", "internal/command", "internal/sparselog", "internal/arch"},
	{"internal/netguard", "internal/node", "deliver/internal/signature"},
	{"fetcher", "billing"},
	{"rule/query", "deliver"},
	{"internal/control"},
	{"monitor", "apikey", "rule"},
	{"internal/search"},
	{"deliver/receive", "deliver/webhook", "deliver/dispatch", "deliver/wshub", "deliver/internal/delivertest"},
	{"deliver/endpoints", "internal/report"},
	{"internal/seen", "internal/due", "internal/lateness"},
	{"internal/pace", "internal/probe", "detect/internal/spend"},
	{"detect/internal/schedule", "detect/internal/budget"},
	{"detect/internal/forecast"},
	{"detect/internal/poll", "detect/internal/routing"},
	{"detect/internal/push"},
	{"detect/internal/accounts"},
	{"detect/internal/queries"},
	{"detect/internal/parts"},
	{"detect/internal/shards"},
	{"detect", "internal/roles"},
	{"internal/platforms"},
	{"storage"},
	{"internal/transfer"},
	{"storage/internal/calls", "storage/internal/roster", "storage/internal/serverclock", "storage/internal/sqlstore"}, // what the stores share
	{"fetcher/upstream", "fetcher/scan", "fetcher/fetchertest", "fetcher/internal/sockettest", "fetcher/internal/htmltext", "fetcher/internal/website",
		"fetcher/xapi/xapitest"}, // what the adapters, or their tests, share
	{"fetcher/internal/socket", "fetcher/feed/internal/websub"},
	{"storage/*", "fetcher/*", "storage/redisstore/internal/redistest"},
	{"."}, // the engine, package streamwatch
	{"enginetest/arrivals", "enginetest/internal/inprocess", "enginetest/internal/social"},
	{"internal/figure"},
	{"enginetest", "engineprom", "engineotel", "enginehttp", "engineui"},
	{"engineotel/otelenv", "internal/stores", "cmd/streamwatch/internal/latencybench/fakeserver"},
	{"cmd/streamwatch/internal/latencybench"}, // streamwatch bench
	{"enginetest/check"},
	{"examples/*", "cmd/*", "crashtest", "internal/simulation", "internal/transfer/transfertest"},
}

// testLevel is the highest package a test may import.
const testLevel = "enginetest/check"

// forbiddenInCore may not be in a program just because it embeds the engine:
// import paths, each with everything below it.
var forbiddenInCore = []string{
	"github.com/redis/go-redis",
	"github.com/alicebob/miniredis",
	"github.com/jackc/pgx",
	"modernc.org/sqlite",
	"github.com/prometheus",
	"go.opentelemetry.io",
	"github.com/JohannesKaufmann",
	"codeberg.org/readeck",
	"github.com/getkin/kin-openapi",
	"github.com/fxamacker/cbor",
	"go.yaml.in/yaml",
	"github.com/mmcdole/gofeed",
	"testing",
	"net/http/httptest",
}

// forbiddenIn are imports that a single package must do without: the records
// and ports of the platform seam know nothing of how posts are fetched, and
// programs use the fake platform without linking package testing.
var forbiddenIn = map[string][]string{
	"fetcher":    {"net/http"},
	"enginetest": {"testing", "github.com/streamwatch/streamwatch/storage/storetest", "github.com/streamwatch/streamwatch/fetcher/fetchertest"},
}

// forbiddenBelow may not be reached from a package, by whatever way: import paths in
// full. A receiver of webhooks links nothing of what sends them.
var forbiddenBelow = map[string][]string{
	"deliver": {"net/http", "golang.org/x/time/rate"},
	"deliver/receive": {modulePath + "/deliver/dispatch", modulePath + "/deliver/webhook", modulePath + "/deliver/endpoints",
		modulePath + "/internal/netguard", "golang.org/x/time/rate"},
}

// vagueNames say nothing about what a package holds.
var vagueNames = []string{"util", "utils", "common", "types", "models", "helpers"}

// sourcePackage is what the rules need to know of a directory of Go files.
type sourcePackage struct {
	name        string              // package clause, without _test
	documented  bool                // the package comment is where it belongs
	imports     map[string][]string // files outside tests → import paths
	testImports map[string][]string
}

// walkGo calls f for each Go file, in order, and says whether it belongs to a
// nested module. Hidden and testdata directories are left out.
func walkGo(tree fs.FS, f func(file string, nested bool) error) error {
	var modules []string
	return fs.WalkDir(tree, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if p == "." {
				return nil
			}
			if n := d.Name(); n[0] == '.' || n[0] == '_' || n == "testdata" {
				return fs.SkipDir
			}
			if _, err := fs.Stat(tree, path.Join(p, "go.mod")); err == nil {
				modules = append(modules, p+"/")
			}
			return nil
		}
		if !strings.HasSuffix(p, ".go") {
			return nil
		}
		nested := slices.ContainsFunc(modules, func(m string) bool { return strings.HasPrefix(p, m) })
		return f(p, nested)
	})
}

// readPackages parses the module's packages, keyed by directory. Files for
// every platform count; those of "//go:build ignore" do not.
func readPackages(tree fs.FS) (map[string]*sourcePackage, error) {
	pkgs := map[string]*sourcePackage{}
	err := walkGo(tree, func(file string, nested bool) error {
		if nested {
			return nil
		}
		src, err := fs.ReadFile(tree, file)
		if err != nil {
			return err
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, src, parser.ImportsOnly|parser.ParseComments)
		if err != nil {
			return err
		}
		if ignored(parsed) {
			return nil
		}
		p := pkgs[path.Dir(file)]
		if p == nil {
			p = &sourcePackage{imports: map[string][]string{}, testImports: map[string][]string{}}
			pkgs[path.Dir(file)] = p
		}
		into := p.imports
		if strings.HasSuffix(file, "_test.go") {
			into = p.testImports
		} else {
			p.name = parsed.Name.Name
			base := path.Base(file)
			if base == "doc.go" || base == "main.go" && p.name == "main" {
				p.documented = p.documented || parsed.Doc.Text() != ""
			}
		}
		into[file] = nil
		for _, spec := range parsed.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			into[file] = append(into[file], imported)
		}
		return nil
	})
	return pkgs, err
}

func ignored(f *ast.File) bool {
	for _, group := range f.Comments {
		if group.Pos() > f.Package {
			break
		}
		for _, c := range group.List {
			if x, err := constraint.Parse(c.Text); err == nil && x.String() == "ignore" {
				return true
			}
		}
	}
	return false
}

// checkPackages gives one sentence per broken rule, in a stable order.
func checkPackages(pkgs map[string]*sourcePackage) []string {
	var findings []string
	add := func(format string, args ...any) { findings = append(findings, fmt.Sprintf(format, args...)) }
	for _, dir := range slices.Sorted(maps.Keys(pkgs)) {
		p := pkgs[dir]
		if p.name != "" && !p.documented {
			add("%s: no package comment; write one in doc.go (a program's may stand in main.go)", dir)
		}
		for _, name := range []string{path.Base(dir), p.name} {
			if slices.Contains(vagueNames, name) {
				add("%s: a package named %s says nothing; name it for what it holds", dir, name)
				break
			}
		}
		if dir == "internal" {
			add("%s: holds packages and is none", dir)
		}
		level := levelOf(dir)
		if level < 0 {
			add("%s: has no level; add it to levels in internal/arch/rules_test.go, above everything it imports", dir)
			continue
		}
		for _, file := range slices.Sorted(maps.Keys(p.imports)) {
			for _, imported := range p.imports[file] {
				if slices.Contains(forbiddenIn[dir], imported) {
					add("%s: must not import %s", file, imported)
				}
				if to, ok := moduleDir(imported); ok && levelOf(to) >= level {
					add("%s: imports %s, which is not below %s", file, to, dir)
				}
			}
		}
		for _, file := range slices.Sorted(maps.Keys(p.testImports)) {
			for _, imported := range p.testImports[file] {
				if to, ok := moduleDir(imported); ok && levelOf(to) > levelOf(testLevel) {
					add("%s: a test imports %s, which is above %s", file, to, testLevel)
				}
			}
		}
	}
	return append(findings, checkCore(pkgs)...)
}

// checkCore follows the engine's imports through the module, and names the
// chain by which a forbidden one is reached.
func checkCore(pkgs map[string]*sourcePackage) []string {
	var findings []string
	reached := map[string]bool{".": true}
	var visit func(dir string, chain []string)
	visit = func(dir string, chain []string) {
		p := pkgs[dir]
		if p == nil {
			return
		}
		chain = append(chain, dir)
		for _, file := range slices.Sorted(maps.Keys(p.imports)) {
			for _, imported := range p.imports[file] {
				if rule := forbiddenDependency(imported); rule != "" {
					findings = append(findings, fmt.Sprintf("%s: %s must not reach the core, yet it does: %s → %s",
						file, rule, strings.Join(chain, " → "), imported))
				}
				if to, ok := moduleDir(imported); ok && !reached[to] {
					reached[to] = true
					visit(to, slices.Clone(chain))
				}
			}
		}
	}
	visit(".", nil)
	return findings
}

// levelOf is the line a package stands on, -1 when it stands on none. A name
// in full goes before a pattern.
func levelOf(dir string) int {
	found := -1
	for i, line := range levels {
		for _, pattern := range line {
			if pattern == dir {
				return i
			}
			if ok, _ := path.Match(pattern, dir); ok {
				found = i
			}
		}
	}
	return found
}

// moduleDir is the directory of an import path, if it is of this module.
func moduleDir(imported string) (string, bool) {
	if imported == modulePath {
		return ".", true
	}
	return strings.CutPrefix(imported, modulePath+"/")
}

// forbiddenDependency is the rule that keeps an import out of the core, or "".
func forbiddenDependency(imported string) string {
	for _, rule := range forbiddenInCore {
		if imported == rule || strings.HasPrefix(imported, rule+"/") {
			return rule
		}
	}
	return ""
}

// checkSource reads every Go file, also those of nested modules.
func checkSource(tree fs.FS) ([]string, error) {
	// Written in two parts so that this file passes its own check.
	sleep := "time." + "Sleep("
	unfinished := regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME)\b`) // MASTODON is finished
	var findings []string
	err := walkGo(tree, func(file string, _ bool) error {
		src, err := fs.ReadFile(tree, file)
		if err != nil {
			return err
		}
		text := string(src)
		if strings.HasSuffix(file, "_test.go") && strings.Contains(text, sleep) {
			findings = append(findings, file+": a test sleeps; use testing/synctest or wait for what should happen")
		}
		if !strings.Contains(text, "TO"+"DO") && !strings.Contains(text, "FIX"+"ME") {
			return nil // the expression would take seconds for the tree under the race detector
		}
		if word := unfinished.FindString(text); word != "" {
			findings = append(findings, file+": contains "+word+"; finish it or leave it out")
		}
		return nil
	})
	return findings, err
}
