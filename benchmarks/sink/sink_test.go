package sink

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if Child() {
		return
	}
	goleak.VerifyTestMain(m)
}

func TestSinkAnswers(t *testing.T) {
	for _, secure := range []bool{false, true} {
		s, err := Start(Config{Hosts: 3, TLS: secure})
		if err != nil {
			t.Fatal(err)
		}
		transport := &http.Transport{}
		if secure {
			pem, err := os.ReadFile(s.CAFile())
			if err != nil {
				t.Fatal(err)
			}
			roots := x509.NewCertPool()
			roots.AppendCertsFromPEM(pem)
			transport.TLSClientConfig = &tls.Config{RootCAs: roots}
		}
		client := http.Client{Transport: transport}
		for i := range 6 {
			resp, err := client.Post(s.URL(i, "/"), "application/json", strings.NewReader(strings.Repeat("x", 10_000*i)))
			if err != nil || resp.StatusCode != 200 {
				t.Fatalf("TLS %t, host %d: %v", secure, i, err)
			}
			resp.Body.Close()
		}
		if !secure {
			if n, err := s.Posts(); err != nil || n != 6 {
				t.Errorf("it counted %d requests, %v, want 6", n, err)
			}
			http.DefaultClient.CloseIdleConnections()
		}
		client.CloseIdleConnections()
		s.Stop()
	}
}
