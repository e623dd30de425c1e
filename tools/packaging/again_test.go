package packaging

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The steps of the manual are repeated for an upgrade: the keys, and what is in the
// configuration, stay, and a file that has no key yet gets one.
func TestStepsAgainKeepTheKey(t *testing.T) {
	manual, err := os.ReadFile("../../docs/operate.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, of := range []struct{ heading, file, etc, keys string }{
		{"## One machine, systemd", "etc/streamwatch/env", "etc/streamwatch", `STREAMWATCH_SEAL_KEY=of-\d+\n`},
		{"Two servers that share a PostgreSQL", "deploy/.env", "deploy", `STREAMWATCH_SEAL_KEY=of-\d+\nPOSTGRES_PASSWORD=of-\d+\n`},
	} {
		_, after, ok := strings.Cut(string(manual), of.heading)
		if !ok {
			t.Fatalf("no %q", of.heading)
		}
		block := regexp.MustCompile(`(?m)\n\n((?:    .*\n)+)`).FindStringSubmatch(after)[1]
		dir := t.TempDir()
		var steps []string
		for line := range strings.Lines(block) {
			if strings.Contains(line, "/etc/streamwatch/") || strings.Contains(line, "deploy/.env") {
				steps = append(steps, strings.ReplaceAll(line, " /etc/", " etc/"))
			}
		}
		write := func(name, text string, mode os.FileMode) {
			t.Helper()
			if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), mode); err != nil {
				t.Fatal(err)
			}
		}
		write("bin/openssl", "#!/bin/sh\necho of-$$\n", 0o755) // another each time
		write("deploy/streamwatch.yaml", "platform: bluesky\n", 0o644)
		do := func() (text string, mode os.FileMode) {
			t.Helper()
			sh := exec.Command("sh", "-ec", strings.Join(steps, ""))
			sh.Dir, sh.Env = dir, append(os.Environ(), "PATH="+filepath.Join(dir, "bin")+":"+os.Getenv("PATH"))
			if out, err := sh.CombinedOutput(); err != nil {
				t.Fatalf("%s: %v: %s", strings.Join(steps, ""), err, out)
			}
			b, err := os.ReadFile(filepath.Join(dir, of.file))
			if err != nil {
				t.Fatal(err)
			}
			info, err := os.Stat(filepath.Join(dir, of.file))
			if err != nil {
				t.Fatal(err)
			}
			return string(b), info.Mode()
		}
		first, mode := do()
		if !regexp.MustCompile(`^`+of.keys+`$`).MatchString(first) || mode != 0o600 {
			t.Errorf("%s: %q, mode %v, want keys that only their owner reads", of.file, first, mode)
		}
		edited := filepath.Join(of.etc, "streamwatch.yaml")
		write(edited, "platform: mine\n", 0o644)
		if again, _ := do(); again != first {
			t.Errorf("%s: %q, and again %q: want the same keys", of.file, first, again)
		}
		if b, err := os.ReadFile(filepath.Join(dir, edited)); err != nil || string(b) != "platform: mine\n" {
			t.Errorf("%s: %q, %v, want what was written there", edited, b, err)
		}
		write(of.file, "MASTODON_TOKEN=t\n", 0o600)
		if text, _ := do(); !regexp.MustCompile(`^MASTODON_TOKEN=t\n` + of.keys + `$`).MatchString(text) {
			t.Errorf("%s: %q, want the keys behind what was there", of.file, text)
		}
	}
}
