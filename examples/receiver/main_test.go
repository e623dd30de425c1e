package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/receive"
	"github.com/streamwatch/streamwatch/deliver/webhook"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestDemo(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), []string{"-demo"}, "", &out); err != nil {
		t.Fatal(err)
	}
	const want = "sending a new post\n" +
		"post  @nasa  T-0: liftoff! 🚀  https://example.com/nasa/status/1000000000000000000  (250 ms after it was published)\n" +
		"answered 204\nsending the same delivery again\nanswered 204\nsending a post signed by somebody else\nanswered 401\n"
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

// announced waits for the line that says where the receiver listens.
type announced chan string

func (a announced) Write(p []byte) (int, error) {
	if _, url, ok := strings.Cut(strings.TrimSpace(string(p)), "listening on "); ok {
		a <- url
	}
	return len(p), nil
}

// As in a rotation: two secrets are known, and requests by either are taken.
func TestServesUntilItIsStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	said, ended := make(announced, 1), make(chan error, 1)
	go func() {
		ended <- run(ctx, []string{"-addr", "127.0.0.1:0"}, "the-old-secret-of-this-test, the-new-secret-of-this-test", said)
	}()
	url := <-said
	hook, err := webhook.New(webhook.Config{AllowPrivate: true})
	if err != nil {
		t.Fatal(err)
	}
	for secret, want := range map[deliver.Secret]int{"the-old-secret-of-this-test": 204, "the-new-secret-of-this-test": 204, "somebody-else's-secret-here": 401} {
		d := delivery("dlv_1")
		d.Endpoint = deliver.Endpoint{ID: "whk_1", URL: url, Secret: secret}
		if r := hook.Send(t.Context(), d); r.StatusCode != want {
			t.Errorf("answered %+v, want %d", r, want)
		}
	}
	hook.Close()
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestRefusesBadUse(t *testing.T) {
	for args, want := range map[string]string{"": "WEBHOOK_SECRETS is empty", "stray": `argument "stray"`, "-nonsense": "-nonsense", "-addr nowhere": "nowhere"} {
		secrets := "a-secret-of-this-test-alone"
		if args == "" {
			secrets = " , "
		}
		if err := run(t.Context(), strings.Fields(args), secrets, io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", args, err, want)
		}
	}
	if err := run(t.Context(), []string{"-h"}, "", io.Discard); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("-h: %v", err)
	}
}

func TestInbox(t *testing.T) {
	var out bytes.Buffer
	in := newInbox(&out, 2)
	for _, id := range []string{"a", "a", "b", "a", "c", "a"} { // c pushes a out
		r := receive.Received{DeliveryID: id}
		r.TweetText, r.Test = fmt.Sprint(id, "\x1b[31m\n"), id == "b"
		if err := in.take(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for line := range strings.Lines(out.String()) {
		f := strings.Fields(line)
		got = append(got, f[0]+" "+f[2])
	}
	if s := strings.Join(got, ","); s != "post a,test b,post c,post a" || strings.Contains(out.String(), "\x1b") {
		t.Errorf("printed %q", out.String())
	}
	if err := newInbox(broken{}, 2).take(t.Context(), receive.Received{DeliveryID: "a"}); err == nil {
		t.Error("what could not be printed must not be taken")
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("full") }
