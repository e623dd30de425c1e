package manual_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/webhook"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/internal/manual"
)

const receivePage = "docs/receive.md"

// delivery returns one of a post that is 250 ms old.
func delivery(url string, secret deliver.Secret) *deliver.Delivery {
	now := time.Now()
	post := fetcher.Tweet{ID: "1000000000000000000", Text: "Zażółć 🚀", Username: "nasa"}
	e := &deliver.Event{ID: "evt_1", Source: deliver.Source{Kind: deliver.SourceMonitor, ID: "mon_1", Name: "space"}, TweetID: post.ID,
		AuthorUsername: post.Username, TweetURL: "https://example.com/1", PublishedAt: now.Add(-250 * time.Millisecond), DetectedAt: now, Latency: 250 * time.Millisecond}
	e.Body = deliver.AppendBody(nil, e, &post)
	return &deliver.Delivery{ID: "dlv_1", EndpointID: "whk_1", Event: e, Endpoint: deliver.Endpoint{ID: "whk_1", URL: url, Secret: secret}}
}

// The receivers of the page take what the service sends, and refuse what is forged or old.
func TestReceivers(t *testing.T) {
	for _, row := range []struct {
		language, heading, file string
		run                     []string
	}{
		{"go", "### Go", "main.go", []string{"go", "run"}},
		{"js", "### Node", "receiver.js", []string{"node"}},
		{"python", "### Python", "receiver.py", []string{"python3"}},
	} {
		t.Run(row.language, func(t *testing.T) {
			manual.Need(t, row.run[0])
			if row.language == "go" && testing.Short() {
				t.Skip("a program is linked, which takes seconds")
			}
			t.Parallel()
			free, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			address := free.Addr().String()
			free.Close()
			text := manual.Blocks(manual.Section(t, manual.Page(t, receivePage), row.heading), row.language)[0]
			text = strings.ReplaceAll(text, "9000", strings.TrimPrefix(address, "127.0.0.1:"))
			file := filepath.Join(t.TempDir(), row.file)
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			program := append(row.run, file)
			if row.language == "go" { // go run would leave the program when it is ended itself
				binary := filepath.Join(t.TempDir(), "receiver")
				build := exec.Command("go", "build", "-o", binary, file)
				build.Dir, build.Env = manual.Root(t), append(os.Environ(), "GOPROXY=off")
				if out, err := build.CombinedOutput(); err != nil {
					noCache(t, string(out))
					t.Fatalf("%v\n%s", err, out)
				}
				program = []string{binary}
			}
			secret := deliver.GenerateSecret()
			var out strings.Builder
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			receiver := exec.CommandContext(ctx, program[0], program[1:]...)
			receiver.Env = append(os.Environ(), "WEBHOOK_SECRET="+string(secret))
			receiver.Stdout, receiver.Stderr = &out, &out
			if err := receiver.Start(); err != nil {
				t.Fatal(err)
			}
			sent := send(ctx, t, "http://"+address+"/", secret)
			cancel()
			receiver.Wait()
			if want := []int{204, 401, 401}; !slices.Equal(sent, want) || strings.Count(out.String(), "verified: @nasa: Zażółć 🚀 (250") != 1 {
				t.Errorf("answers %v to a genuine, a forged and an old request, want %v\n%s", sent, want, &out)
			}
		})
	}
}

// send sends a genuine, a forged and an old request to a receiver once it listens.
func send(ctx context.Context, t *testing.T, url string, secret deliver.Secret) (answers []int) {
	now := time.Now
	hook, err := webhook.New(webhook.Config{AllowPrivate: true, Now: func() time.Time { return now() }})
	if err != nil {
		t.Fatal(err)
	}
	defer hook.Close()
	retry := time.NewTicker(50 * time.Millisecond)
	defer retry.Stop()
	genuine := hook.Send(ctx, delivery(url, secret))
	for genuine.StatusCode == 0 && ctx.Err() == nil {
		<-retry.C
		genuine = hook.Send(ctx, delivery(url, secret))
	}
	forged := hook.Send(ctx, delivery(url, deliver.GenerateSecret()))
	now = func() time.Time { return time.Now().Add(-time.Hour) }
	old := hook.Send(ctx, delivery(url, secret))
	return []int{genuine.StatusCode, forged.StatusCode, old.StatusCode}
}

// The lines of shell say the same of a request that was written down.
func TestReceiverInShell(t *testing.T) {
	manual.Need(t, "sh", "openssl", "base64", "od")
	script := manual.Blocks(manual.Section(t, manual.Page(t, receivePage), "### Shell"), "sh")[0]
	secret, other := deliver.GenerateSecret(), deliver.GenerateSecret()
	d := delivery("", secret)
	for _, row := range []struct {
		name   string
		secret deliver.Secret
		at     time.Time
		want   bool
	}{
		{"genuine", secret, time.Now(), true},
		{"forged", other, time.Now(), false},
		{"old", secret, time.Now().Add(-time.Hour), false},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "body"), d.Event.Body, 0o600); err != nil {
			t.Fatal(err)
		}
		shell := exec.Command("sh", "-c", script)
		shell.Dir = dir
		shell.Env = append(os.Environ(), "WEBHOOK_SECRET="+string(secret), "webhook_id="+d.ID, fmt.Sprint("webhook_timestamp=", row.at.Unix()),
			"webhook_signature="+deliver.SignStandard(other, d.ID, row.at, []byte("of another secret"))+" "+deliver.SignStandard(row.secret, d.ID, row.at, d.Event.Body))
		if out, err := shell.CombinedOutput(); (err == nil) != row.want {
			t.Errorf("%s: %v, want it to be genuine: %v\n%s", row.name, err, row.want, out)
		}
	}
}

// The body on the page has the fields of one that is sent.
func TestBody(t *testing.T) {
	fields := func(text string) []string {
		var body map[string]json.RawMessage
		if err := json.Unmarshal([]byte(text), &body); err != nil {
			t.Fatal(err)
		}
		return slices.Sorted(maps.Keys(body))
	}
	shown := fields(manual.Blocks(manual.Page(t, receivePage), "json")[0])
	if sent := fields(string(delivery("", "").Event.Body)); !slices.Equal(shown, sent) {
		t.Errorf("the page shows %q, %q are sent", shown, sent)
	}
}

// noCache skips a test where the go command has nothing to build from, as for a user without HOME.
func noCache(t *testing.T, said string) {
	t.Helper()
	for _, lack := range []string{"cache not found", "cache is required", "module lookup disabled", "GOCACHE is not defined"} {
		if strings.Contains(said, lack) {
			t.Skipf("NOT TESTED: the go command has no caches: set HOME, or GOCACHE and GOMODCACHE: %s", said)
		}
	}
}
