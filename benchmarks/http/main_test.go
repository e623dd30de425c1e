package main

import (
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/streamwatch/streamwatch/benchmarks/report"
)

// The test is its own child, as the program is.
func TestMain(m *testing.M) {
	if runAsChild() {
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// Both contestants answer alike, and what is measured is what was answered.
func TestContestantsAnswerAlike(t *testing.T) {
	s, err := newService()
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	for _, c := range cases {
		body, err := s.body(c.path)
		if err != nil {
			t.Fatal(err)
		}
		for _, to := range []*served{s.ours, s.bare(c.path, body)} {
			m, err := s.round(report.Options{For: time.Millisecond}, c, to, body, 2, 300)
			if err != nil || m.rate <= 0 || m.p99 <= 0 {
				t.Errorf("%s: %+v, %v", c.name, m, err)
			}
			// A connection has a goroutine and buffers; some of their memory was there.
			if c.slow && (m.alone <= 0 || m.held != 300 || m.each < 1000 || m.each > 64<<10) {
				t.Errorf("%s: %+v: want 300 slow clients and what they take", c.name, m)
			}
		}
	}
	if _, err := load(s.ours.addr, "/v1/account/me", "no key", 1, 1, time.Millisecond); err == nil {
		t.Error("an answer of 401 was counted")
	}
}

// The slow clients stay when the server cuts them, and go with their parent.
func TestSlowClientsStayUntilTheEnd(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	until, end := io.Pipe()
	said, say := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- beSlow(ln.Addr().String(), 2, until, say) }()
	for i := range 4 { // two are cut, and come again
		c, err := ln.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		b := make([]byte, 100)
		if n, err := c.Read(b); err != nil || !strings.HasSuffix(string(b[:n]), "X-Slow: ") {
			t.Errorf("%q, %v", b[:n], err)
		}
		if i == 1 {
			line := make([]byte, 5)
			if _, err := io.ReadFull(said, line); err != nil || string(line) != "open\n" {
				t.Errorf("%q, %v", line, err)
			}
		}
		if i < 2 {
			c.Close()
		}
	}
	end.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if _, _, err := hold(&served{addr: "127.0.0.1:1"}, 2); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("%v: want it to say that nobody is there", err)
	}
}
