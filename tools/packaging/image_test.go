//go:build linux

package packaging

import (
	"bytes"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// image is the final stage of the Dockerfile, with its root file system in a folder.
type image struct {
	root       string
	entrypoint []string
	dir        string
	uid        uint32
}

var layOut = sync.OnceValues(func() (string, error) {
	root, err := os.MkdirTemp("", "streamwatch-image-")
	if err != nil {
		return "", err
	}
	if out, err := exec.Command(deployed("rootfs"), root).CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return root, os.Chmod(root, 0o755)
})

func TestMain(m *testing.M) {
	code := m.Run()
	if os.Getenv("STREAMWATCH_PACKAGE") != "" {
		if root, err := layOut(); err == nil {
			os.RemoveAll(root)
		}
	}
	os.Exit(code)
}

// laidOut is the root file system that the Dockerfile's script makes.
func laidOut(t *testing.T) string {
	t.Helper()
	if os.Getenv("STREAMWATCH_PACKAGE") == "" {
		t.Skip("SKIPPED: builds the program with STREAMWATCH_PACKAGE=1 only")
	}
	root, err := layOut()
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// open reads the Dockerfile's final stage. What it does not know of is an error: the
// folder would not be what the image is.
func open(t *testing.T) *image {
	t.Helper()
	im := &image{root: laidOut(t)}
	text, err := os.ReadFile(deployed("Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	build, final, ok := strings.Cut(string(text), "\nFROM scratch\n")
	if !ok || !strings.Contains(build, "\nRUN deploy/rootfs /rootfs\n") {
		t.Fatalf("the Dockerfile does not lay out /rootfs and begin its final stage from scratch:\n%s", text)
	}
	copied := false
	for line := range strings.Lines(final) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch {
		case name == "":
		case name == "COPY" && rest == "--from=build /rootfs/ /":
			copied = true
		case name == "USER":
			uid, _, _ := strings.Cut(rest, ":")
			n, err := strconv.ParseUint(uid, 10, 32)
			if err != nil || n == 0 {
				t.Fatalf("USER %s: want the number of one without rights", rest)
			}
			im.uid = uint32(n)
		case name == "WORKDIR":
			im.dir = rest
		case name == "ENTRYPOINT":
			if err := json.Unmarshal([]byte(rest), &im.entrypoint); err != nil {
				t.Fatalf("ENTRYPOINT %s: %v", rest, err)
			}
		default:
			t.Fatalf("the test does not know %q of the final stage", line)
		}
	}
	if !copied || im.uid == 0 || im.dir == "" || len(im.entrypoint) == 0 {
		t.Fatalf("the final stage lacks something: %+v", im)
	}
	return im
}

// command is the program in the image, as its user.
func (im *image) command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("SKIPPED: THE IMAGE DOES NOT RUN: chroot wants root")
	}
	all := append(im.entrypoint[1:len(im.entrypoint):len(im.entrypoint)], args...)
	cmd := &exec.Cmd{Path: im.entrypoint[0], Args: append(im.entrypoint[:1:1], all...), Dir: im.dir, Env: []string{"PATH=/"},
		SysProcAttr: &syscall.SysProcAttr{Chroot: im.root, Credential: &syscall.Credential{Uid: im.uid, Gid: im.uid}}}
	t.Cleanup(func() {
		if cmd.Process != nil {
			cmd.Process.Kill()
		}
	})
	return cmd
}

// heard is an output in which texts are waited for.
type heard struct {
	mu   sync.Mutex
	buf  bytes.Buffer
	more chan struct{}
}

func newHeard() *heard { return &heard{more: make(chan struct{}, 1)} }

func (h *heard) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	select {
	case h.more <- struct{}{}:
	default:
	}
	return h.buf.Write(p)
}

func (h *heard) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.buf.String()
}

// wait returns what a pattern's group matches.
func (h *heard) wait(t *testing.T, pattern string) string {
	t.Helper()
	late := time.After(time.Minute)
	for {
		if m := regexp.MustCompile(pattern).FindStringSubmatch(h.String()); m != nil {
			return m[1]
		}
		select {
		case <-h.more:
		case <-late:
			t.Fatalf("no %s in\n%s", pattern, h)
		}
	}
}

// start runs a command of the image until end is called, which sends SIGTERM and returns
// an error unless the exit status is 0.
func (im *image) start(t *testing.T, args ...string) (out *heard, end func() error) {
	t.Helper()
	out = newHeard()
	cmd := im.command(t, args...)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return out, func() error {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			return err
		}
		return cmd.Wait()
	}
}

// The image's user finds what the program needs: a folder for temporary files, time
// zones, and an end.
func TestImageServes(t *testing.T) {
	im := open(t)
	out, end := im.start(t, "serve", "-demo", "-addr", "127.0.0.1:0")
	base := out.wait(t, `msg=serving address=(\S+)`)
	key := out.wait(t, `KEY=(\S+)`)
	for _, path := range []string{"/livez", "/readyz", "/console/login"} {
		resp, err := http.Get(base + path)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != 200 {
			t.Errorf("GET %s: %d", path, resp.StatusCode)
		}
	}
	rule := `{"tag":"a","query":"from:nasa","schedule":"CRON_TZ=Pacific/Chatham 0 9 * * *"}`
	req, err := http.NewRequest("POST", base+"/v1/social/stream/filter-rules", strings.NewReader(rule))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Api-Key", key)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	if resp.StatusCode != 201 {
		t.Errorf("a schedule in a time zone: %d %s", resp.StatusCode, body)
	}
	if err := end(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// A database is made in the working directory, which is all that the user may write, and
// there is nothing but the program to run.
func TestImageKeeps(t *testing.T) {
	im := open(t)
	if out, err := im.command(t, "key", "-owner", "acme").CombinedOutput(); err != nil || !bytes.Contains(out, []byte("in   "+im.dir+"/streamwatch.db")) {
		t.Errorf("%v, %s", err, out)
	}
	if out, err := im.command(t, "key", "-owner", "acme", "-db", "/etc/a.db").CombinedOutput(); err == nil {
		t.Errorf("the user may write to /etc: %s", out)
	}
	err := filepath.WalkDir(im.root, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if info, err := d.Info(); err != nil || info.Mode()&0o111 != 0 && path != filepath.Join(im.root, im.entrypoint[0]) {
			t.Errorf("%s can be run, %v", path, err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// HTTPS is checked by the image's CA certificates: a server's is refused until its CA is
// among them.
func TestImageTrusts(t *testing.T) {
	im := open(t)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/rss+xml")
		fmt.Fprint(w, `<rss version="2.0"><channel><title>News</title><item><guid isPermaLink="false">1</guid><title>a post</title></item></channel></rss>`)
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // refused handshakes
	server.StartTLS()
	defer server.Close()
	watch := []string{"watch", "-since", "-allow-private", "feed:" + server.URL + "/feed"}

	out, end := im.start(t, watch...)
	out.wait(t, `(certificate not valid)`)
	end() // with 0 or 1, by whether a poll has failed meanwhile

	bundle := filepath.Join(im.root, "etc/ssl/certs/ca-certificates.crt")
	before, err := os.ReadFile(bundle)
	if err != nil || bytes.Count(before, []byte("BEGIN CERTIFICATE")) < 50 {
		t.Fatalf("%d bytes of CA certificates, %v", len(before), err)
	}
	defer os.WriteFile(bundle, before, 0o644)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(bundle, append(before, ca...), 0o644); err != nil {
		t.Fatal(err)
	}
	out, end = im.start(t, watch...)
	out.wait(t, `("a post")`)
	out.wait(t, `(watching feed:)`)
	if err := end(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
