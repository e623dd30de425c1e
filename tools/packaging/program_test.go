//go:build linux

package packaging

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The program takes the configuration that it is started with, and stops in the time that
// the other tests count on.
func TestConfigurations(t *testing.T) {
	program := filepath.Join(laidOut(t), "streamwatch")
	var c compose
	decode(t, "compose.yaml", &c)
	var d deployment
	decode(t, "kubernetes.yaml", &d, new(any))
	for name, env := range map[string]map[string]string{
		"compose": c.Services["one"].Environment, "kubernetes": d.Spec.Template.Spec.Containers[0].env(), "systemd": {"STREAMWATCH_DB": "streamwatch.db"},
	} {
		cmd := exec.Command(program, "check")
		for key, value := range env {
			cmd.Env = append(cmd.Env, key+"="+value)
		}
		cmd.Env = append(cmd.Env, "STREAMWATCH_CONFIG="+deployed("streamwatch.yaml"), "STREAMWATCH_SEAL_KEY=MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
			continue
		}
		db := regexp.MustCompile(`//.*@|=[^&]*`).ReplaceAllStringFunc(env["STREAMWATCH_DB"], func(secret string) string {
			return map[byte]string{'/': "//***@", '=': "=***"}[secret[0]]
		})
		for key, want := range map[string]string{"drain": drain.String(), "stop-time": stopTime.String(), "db": ".*" + regexp.QuoteMeta(db)} {
			if !regexp.MustCompile(`(?m)^ +` + key + ` +` + want + ` `).Match(out) {
				t.Errorf("%s: %s is not %s:\n%s", name, key, want, out)
			}
		}
	}
}

// What systemd says of the unit: nothing wrong, and little that it may do.
func TestUnitBySystemd(t *testing.T) {
	program := filepath.Join(laidOut(t), "streamwatch")
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("SKIPPED: THE UNIT IS NOT VERIFIED: there is no systemd-analyze")
	}
	text, err := os.ReadFile(deployed("streamwatch.service"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "streamwatch.service")
	text = []byte(strings.ReplaceAll(string(text), "/usr/local/bin/streamwatch serve", program+" serve"))
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("systemd-analyze", "verify", "--man=no", path).CombinedOutput(); err != nil || strings.Contains(string(out), "streamwatch.service") {
		t.Errorf("verify: %v\n%s", err, out)
	}
	// The threshold is ten times what systemd calls the exposure, which is up to 10.
	if out, err := exec.Command("systemd-analyze", "security", "--offline=true", "--threshold=20", "--no-pager", path).CombinedOutput(); err != nil {
		t.Errorf("security: %v\n%s", err, out)
	}
}
