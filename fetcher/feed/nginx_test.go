package feed_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/feed"
)

const nginxConfig = `daemon off;
master_process off;
pid "%[1]s/pid";
error_log "%[1]s/error.log";
events { worker_connections 64; }
http {
	client_body_temp_path "%[1]s/t1"; proxy_temp_path "%[1]s/t2"; fastcgi_temp_path "%[1]s/t3"; uwsgi_temp_path "%[1]s/t4"; scgi_temp_path "%[1]s/t5";
	log_format plain '$status $request_uri';
	access_log "%[1]s/access.log" plain;
	types { application/rss+xml xml; }
	gzip on; gzip_types application/rss+xml; gzip_min_length 10;
	server {
		listen %[2]s;
		root "%[1]s/www";
		location = /old { return 301 /feed.xml; }
		location = /older { return 308 /old; }
		location = /gone { return 410; }
		location = /plain { gzip off; alias "%[1]s/www/feed.xml"; default_type text/xml; }
	}
}
`

// nginx is a publisher's server.
type nginx struct {
	t    *testing.T
	dir  string
	addr string
}

// startNginx starts one on loopback, with its files in a directory of the test.
func startNginx(t *testing.T) *nginx {
	binary, err := exec.LookPath("nginx")
	if err != nil {
		if os.Getenv("STREAMWATCH_REQUIRE_NGINX") != "" {
			t.Fatal("nginx is missing")
		}
		t.Skip("SKIPPED: NO NGINX: install nginx-light (Debian) to run this test")
	}
	for range 5 { // another program may take the port meanwhile
		if n, err := tryNginx(t, binary); n != nil {
			return n
		} else if !strings.Contains(err.Error(), "Address already in use") {
			t.Fatal(err)
		}
	}
	t.Fatal("nginx found five ports in use that had been free")
	return nil
}

// tryNginx starts one on a port that is free. It returns an error if nginx ends.
func tryNginx(t *testing.T, binary string) (*nginx, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n := &nginx{t, t.TempDir(), l.Addr().String()}
	l.Close()
	n.file("nginx.conf", fmt.Sprintf(nginxConfig, n.dir, n.addr))
	if err := os.Mkdir(filepath.Join(n.dir, "www"), 0o755); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, binary, "-p", n.dir, "-c", filepath.Join(n.dir, "nginx.conf"))
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() { stop(); <-ended })
	for late := time.After(time.Minute); ; {
		if _, err := os.Stat(filepath.Join(n.dir, "pid")); err == nil {
			return n, nil // it is written when the port is bound
		}
		select {
		case err := <-ended:
			ended <- err
			return nil, fmt.Errorf("nginx ended: %v: %s", err, said.String())
		case <-late:
			t.Fatal("nginx has not begun within a minute")
		case <-time.After(25 * time.Millisecond):
		}
	}
}

func (n *nginx) file(name, text string) {
	n.t.Helper()
	if err := os.WriteFile(filepath.Join(n.dir, name), []byte(text), 0o644); err != nil {
		n.t.Fatal(err)
	}
}

// publish puts a feed in place that was written at a time.
func (n *nginx) publish(at time.Time, guids ...string) {
	n.t.Helper()
	n.file("www/new", items(guids...))
	name := filepath.Join(n.dir, "www/new")
	if err := os.Chtimes(name, at, at); err != nil {
		n.t.Fatal(err)
	}
	if err := os.Rename(name, filepath.Join(n.dir, "www/feed.xml")); err != nil {
		n.t.Fatal(err)
	}
}

// log is what nginx has answered since it was asked last: so many requests, which it
// writes down once they are answered.
func (n *nginx) log(requests int) string {
	n.t.Helper()
	name := filepath.Join(n.dir, "access.log")
	for range 6000 { // a minute or more
		text, err := os.ReadFile(name)
		if err != nil {
			n.t.Fatal(err)
		}
		if strings.Count(string(text), "\n") < requests {
			<-time.After(10 * time.Millisecond)
			continue
		}
		if err := os.Truncate(name, 0); err != nil {
			n.t.Fatal(err)
		}
		return strings.ReplaceAll(strings.TrimSpace(string(text)), "\n", ", ")
	}
	n.t.Fatalf("nginx has not answered %d requests", requests)
	return ""
}

// A feed on a real server: most reads are answered 304, with gzip and without, and a feed
// that has moved is asked for where it is.
func TestNginx(t *testing.T) {
	n := startNginx(t)
	f, err := feed.New(feed.Config{AllowPrivate: true, HostGap: time.Nanosecond})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ path, first, then string }{
		{"/feed.xml", "200 /feed.xml", "304 /feed.xml"},
		{"/plain", "200 /plain", "304 /plain"},
		{"/older", "308 /older, 301 /old, 200 /feed.xml", "304 /feed.xml"},
	} {
		written := time.Now().Add(-time.Hour)
		n.publish(written, "b", "a")
		r := newReader(t, f)
		r.q.Username = "http://" + n.addr + tt.path
		if page := r.read(); len(page.Tweets) != 2 {
			t.Errorf("%s: %d entries, want 2", tt.path, len(page.Tweets))
		}
		if got := n.log(strings.Count(tt.first, "/")); got != tt.first {
			t.Errorf("%s: first %q, want %q", tt.path, got, tt.first)
		}
		for range 10 {
			if page := r.read(); !page.Unchanged || page.Skipped != 2 {
				t.Errorf("%s: %+v, want it unchanged", tt.path, page)
			}
		}
		if got, want := n.log(10), strings.Repeat(tt.then+", ", 9)+tt.then; got != want {
			t.Errorf("%s: then %q, want ten of %q", tt.path, got, tt.then)
		}
		n.publish(written.Add(time.Minute), "c", "b", "a")
		if page := r.read(); len(page.Tweets) != 1 || page.Tweets[0].Text != "c" || page.Skipped != 2 {
			t.Errorf("%s: %+v, want one new entry", tt.path, page)
		}
		n.log(1)
	}
	_, err = f.Timeline(t.Context(), fetcher.TimelineQuery{Username: "http://" + n.addr + "/gone"})
	if err == nil || !strings.Contains(err.Error(), "410") {
		t.Errorf("error %v, want status 410", err)
	}
}
