package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// startFake serves a fake hooks.slack.com on loopback. It prints the messages, and answers the first
// one that it is too busy.
func startFake(out io.Writer) (url string, stop func(), err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	var calls atomic.Int64
	server := &http.Server{ReadHeaderTimeout: 5 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Text string `json:"text"`
		}
		switch {
		case r.Method != http.MethodPost || r.URL.Path != "/services/T0/B0/secret":
			http.Error(w, "no_service", http.StatusNotFound)
		case json.NewDecoder(io.LimitReader(r.Body, 1<<20)).Decode(&in) != nil || in.Text == "":
			http.Error(w, "invalid_payload", http.StatusBadRequest)
		case calls.Add(1) == 1:
			w.Header().Set("Retry-After", "1")
			http.Error(w, "rate_limited", http.StatusTooManyRequests)
		default:
			fmt.Fprintf(out, "#space  %q\n", in.Text)
			io.WriteString(w, "ok")
		}
	})}
	done := make(chan struct{})
	go func() {
		defer close(done)
		server.Serve(l)
	}()
	return "slack://" + l.Addr().String() + "/services/T0/B0/secret", func() {
		server.Close()
		<-done
	}, nil
}
