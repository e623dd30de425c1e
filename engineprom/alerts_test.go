package engineprom_test

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	yaml "github.com/oasdiff/yaml3"
)

// alerts is a file of rules (https://prometheus.io/docs/prometheus/latest/configuration/alerting_rules/).
type alerts struct {
	Groups []struct {
		Name  string
		Rules []alert
	}
}

type alert struct {
	Alert, Expr, For    string
	Labels, Annotations map[string]string
}

// Every rule asks only for metrics that exist, and says how bad it is, what is the matter
// and what to do.
func TestAlerts(t *testing.T) {
	text, err := os.ReadFile("alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file alerts
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	exported := exportedNames(t)
	seen := map[string]bool{}
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			t.Run(r.Alert, func(t *testing.T) {
				if !strings.HasPrefix(r.Alert, "Streamwatch") || seen[r.Alert] {
					t.Errorf("the name %q is not allowed: want one for each, which begins with Streamwatch", r.Alert)
				}
				seen[r.Alert] = true
				asked := regexp.MustCompile(`streamwatch_[a-z0-9_]+`).FindAllString(r.Expr, -1)
				if len(asked) == 0 {
					t.Errorf("%q asks for no metric", r.Expr)
				}
				for _, name := range asked {
					if !slices.Contains(exported, name) {
						t.Errorf("it asks for %s, which does not exist", name)
					}
				}
				if d, err := time.ParseDuration(r.For); r.For != "" && (err != nil || d <= 0) {
					t.Errorf("for %q: want a duration above 0", r.For)
				}
				if !slices.Contains([]string{"critical", "warning", "info"}, r.Labels["severity"]) {
					t.Errorf("severity %q: want critical, warning or info", r.Labels["severity"])
				}
				for _, name := range []string{"summary", "runbook"} {
					if !strings.HasSuffix(r.Annotations[name], ".") {
						t.Errorf("%s %q: want sentences", name, r.Annotations[name])
					}
				}
			})
		}
	}
	if len(seen) < 20 {
		t.Errorf("%d rules only", len(seen))
	}
	tested, err := os.ReadFile("testdata/alerts_test.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for name := range seen {
		if !strings.Contains(string(tested), "{"+name+"}") {
			t.Errorf("testdata/alerts_test.yaml does not have %s fire", name)
		}
	}
}

// exportedNames are those of all series that Prometheus reads.
func exportedNames(t *testing.T) (names []string) {
	for _, m := range regexp.MustCompile(`(?m)^([a-z0-9_]+)[{ ]`).FindAllStringSubmatch(scrape(t, fixed{}), -1) {
		names = append(names, m[1])
	}
	return names
}

// Prometheus' own tool takes the rules, and has them fire when they should.
func TestPromtool(t *testing.T) {
	required := os.Getenv("STREAMWATCH_REQUIRE_PROMTOOL") != ""
	if testing.Short() && !required {
		t.Skip("SKIPPED: promtool plays hours of figures")
	}
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		if required {
			t.Fatal(err)
		}
		t.Skip("NO PROMTOOL: the alerts are not tested; install prometheus")
	}
	for _, args := range [][]string{{"check", "rules", "alerts.yaml"}, {"test", "rules", "testdata/alerts_test.yaml"}} {
		if out, err := exec.Command(promtool, args...).CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}
