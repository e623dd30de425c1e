package webscrape

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/internal/netguard"
	"golang.org/x/net/dns/dnsmessage"
)

// A name is refused when any of its addresses is, whichever comes first: none is
// connected to.
func TestNamesWithOneDeniedAddress(t *testing.T) {
	for name, answers := range map[string]string{
		"private":        "10.0.0.5",
		"private-second": "93.184.216.34,10.0.0.5",
		"private-first":  "10.0.0.5,93.184.216.34",
		"loopback-v6":    "93.184.216.34,::1",
		"loopback-v4":    "2606:2800:220:1::1,127.0.0.1",
		"metadata":       "93.184.216.34,93.184.216.35,169.254.169.254",
	} {
		for _, scheme := range []string{"http", "https"} {
			t.Run(scheme+" "+name, func(t *testing.T) {
				resolveTo(t, answers)
				s, err := New(Config{IgnoreRobots: true})
				if err != nil {
					t.Fatal(err)
				}
				_, err = s.Scrape(t.Context(), fetcher.ScrapeQuery{URL: scheme + "://" + name + ".streamwatch.dev/"})
				if !errors.Is(err, netguard.ErrAddressNotAllowed) {
					t.Errorf("%v, want %v", err, netguard.ErrAddressNotAllowed)
				}
			})
		}
	}
}

// Names with hyphens at the ends of labels are looked up, which Go's resolver does not do by
// itself: their addresses are judged.
func TestNamesWithHyphens(t *testing.T) {
	asked := resolveTo(t, "10.0.0.5")
	s, err := New(Config{IgnoreRobots: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, label := range []string{"-a", "a-", "-", "--a--.-b-", "_a_", "qa--blog"} {
		name := label + ".streamwatch.dev"
		_, err := s.Scrape(t.Context(), fetcher.ScrapeQuery{URL: "http://" + name + "/"})
		if got := asked(); !errors.Is(err, netguard.ErrAddressNotAllowed) || got != name+"." {
			t.Errorf("%s: the name server was asked for %s, error %v, want %v", name, got, err, netguard.ErrAddressNotAllowed)
		}
	}
}

// resolveTo has every name resolve to the addresses until the test ends. It returns a function
// that gives the name that was asked for last.
func resolveTo(t *testing.T, answers string) (asked func() string) {
	t.Helper()
	var last atomic.Value
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 2048)
		for {
			n, from, err := server.ReadFrom(buf)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if err := m.Unpack(buf[:n]); err != nil {
				t.Errorf("a question that is none: %v", err)
				continue
			}
			m.Response, m.Additionals = true, nil
			q := m.Questions[0]
			last.Store(q.Name.String())
			for text := range strings.SplitSeq(answers, ",") {
				head := dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class, Type: q.Type}
				switch a := netip.MustParseAddr(text); {
				case a.Is4() && q.Type == dnsmessage.TypeA:
					m.Answers = append(m.Answers, dnsmessage.Resource{Header: head, Body: &dnsmessage.AResource{A: a.As4()}})
				case a.Is6() && q.Type == dnsmessage.TypeAAAA:
					m.Answers = append(m.Answers, dnsmessage.Resource{Header: head, Body: &dnsmessage.AAAAResource{AAAA: a.As16()}})
				}
			}
			reply, err := m.Pack()
			if err == nil {
				_, err = server.WriteTo(reply, from)
			}
			if err != nil {
				t.Error(err)
			}
		}
	}()
	before := net.DefaultResolver
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", server.LocalAddr().String())
	}}
	t.Cleanup(func() {
		net.DefaultResolver = before
		server.Close()
		<-done
	})
	return func() string { name, _ := last.Load().(string); return name }
}
