package latencybench

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	redisserver "github.com/alicebob/miniredis/v2/server"

	"github.com/streamwatch/streamwatch/cmd/streamwatch/internal/latencybench/fakeserver"
	"github.com/streamwatch/streamwatch/internal/command"
)

// Each mode of -detector self, and a fleet, finds posts and delivers them with a valid
// signature; how soon does not matter here.
func TestDetectorSelf(t *testing.T) {
	program := built(t)
	server := miniredis.RunT(t)
	if err := server.Server().Register("CONFIG", func(p *redisserver.Peer, _ string, _ []string) {
		p.WriteStrings([]string{"maxmemory-policy", "noeviction"})
	}); err != nil {
		t.Fatal(err)
	}
	for _, s := range []self{
		{mode: "polling", nodes: 1, store: "sqlite"},
		{mode: "probes", nodes: 1, store: "sqlite"},
		{mode: "push", nodes: 1, store: "sqlite"},
		{mode: "polling", nodes: 2, store: "redis://" + server.Addr()},
	} {
		t.Run(fmt.Sprint(s.mode, " ", s.nodes), func(t *testing.T) {
			s.on, s.interval = true, 200*time.Millisecond
			platform := fakeserver.New(5, 1)
			web := httptest.NewServer(platform)
			defer web.Close()
			defer platform.Close()
			b := newBook()
			hook := &webhookHandler{b, testSecret}
			came := make(chan struct{}, 100)
			receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				hook.ServeHTTP(w, r)
				came <- struct{}{}
			}))
			defer receiver.Close()
			d, err := startSelf(t.Context(), s, program, 5, web.URL, receiver.URL, testSecret, t.Output())
			if err != nil {
				t.Fatal(err)
			}
			var markers []string
			for n := range 5 {
				markers = append(markers, newMarker())
				platform.Post(n, markers[n])
			}
			for range markers {
				<-came
			}
			if err := d.stop(); err != nil {
				t.Error(err)
			}
			arrivals := closed(b).arrivals
			got := map[string]bool{}
			for _, a := range arrivals {
				got[a.marker] = a.signature == signatureValid
			}
			for _, m := range markers {
				if !got[m] {
					t.Errorf("%s did not arrive with a valid signature: %+v", m, arrivals)
				}
			}
		})
	}
}

// Of a detector that cannot begin the log has the reason, and nothing is left of it.
func TestDetectorThatCannotBegin(t *testing.T) {
	for name, tc := range map[string]struct{ program, platform, want, log string }{
		"a platform that is none": {built(t), "platform:", "detector 1: the service was not ready\nexit status 78", `\"platform:\" is not allowed`},
		"no program":              {"/does/not/exist", "http://127.0.0.1:1", "/does/not/exist", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("TMPDIR", t.TempDir())
			var logs strings.Builder
			s := self{on: true, mode: "polling", nodes: 1, interval: time.Second, store: "sqlite"}
			_, err := startSelf(t.Context(), s, tc.program, 5, tc.platform, "http://127.0.0.1:1/", testSecret, &logs)
			if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(logs.String(), tc.log) {
				t.Errorf("error %v, log %s: want %q and %q", err, &logs, tc.want, tc.log)
			}
			if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
				t.Errorf("left %v, %v", left, err)
			}
		})
	}
}

// A whole run on this machine ends by itself and prints its figures. What arrives within the
// wait depends on the machine, and is not looked at.
func TestWholeRun(t *testing.T) {
	o, err := parse(t, "-detector self -mode push -websocket self -posts 3 -rate 100 -warmup 0 -wait 300ms")
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	noEnv := func(string) (string, bool) { return "", false }
	if err := measure(t.Context(), o, noEnv, built(t), &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"3 posts: 3 scored", "webhook: ", "websocket: "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the figures lack %q:\n%s", want, &out)
		}
	}
}

// A run that would score nothing is refused before it begins.
func TestScheduleWithinTheWarmup(t *testing.T) {
	o, err := parse(t, "-posts 60 -rate 2000 -warmup 5s")
	if err != nil {
		t.Fatal(err)
	}
	o.wait = time.Millisecond
	err = measure(t.Context(), o, func(string) (string, bool) { return "", false }, "", io.Discard, io.Discard)
	if !errors.As(err, new(command.UsageError)) || !strings.Contains(err.Error(), "-warmup 5s is not allowed: the last of 60 posts is due after ") {
		t.Errorf("error %v, want one that names -warmup", err)
	}
}

// What is asked for in vain is told before the first post.
func TestRefusedBeforeTheFirstPost(t *testing.T) {
	for line, want := range map[string]string{
		"-posts 1001 -post {text}": "-posts 1001 is not allowed there",
		"-listen nonsense":         `-listen "nonsense" is not allowed: `,
		"-webhook nonsense":        `-webhook "nonsense" is not allowed: `,
	} {
		o, err := parse(t, line)
		if err != nil {
			t.Fatal(err)
		}
		var logs strings.Builder
		err = measure(t.Context(), o, func(string) (string, bool) { return "", false }, "", io.Discard, &logs)
		if !errors.As(err, new(command.UsageError)) || !strings.HasPrefix(err.Error(), want) || strings.Contains(logs.String(), " posts in ") {
			t.Errorf("%s: error %v, log %s: want it before the first post", line, err, &logs)
		}
	}
}
