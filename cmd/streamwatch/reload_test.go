package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/internal/heard"
)

// writeCertificate writes a certificate with a serial number, and its key.
func writeCertificate(t *testing.T, cert, key string, serial int64) {
	t.Helper()
	priv, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	is := &x509.Certificate{SerialNumber: big.NewInt(serial), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"localhost"}}
	der, err := x509.CreateCertificate(rand.Reader, is, is, priv.Public(), priv)
	if err != nil {
		t.Fatal(err)
	}
	text, err := x509.MarshalPKCS8PrivateKey(priv)
	if err != nil {
		t.Fatal(err)
	}
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: text}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// SIGHUP has a server read its certificate and limits again. What is not allowed changes nothing, and
// what needs a restart is told.
func TestReload(t *testing.T) {
	dir := t.TempDir()
	cert, key, path := filepath.Join(dir, "c.pem"), filepath.Join(dir, "k.pem"), filepath.Join(dir, "s.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte("drain: 0s\naddr: 127.0.0.1:0\ntls-cert: "+cert+"\ntls-key: "+key+"\n"+text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	writeCertificate(t, cert, key, 1)
	write("limits: {monitors: 1}")
	d := serveDemoFrom(t, path)
	d.log.Wait(t, "msg=serving ")
	d.client.Transport.(*http.Transport).TLSClientConfig = &tls.Config{InsecureSkipVerify: true}
	serial := func() int64 {
		t.Helper()
		conn, err := tls.Dial("tcp", strings.TrimPrefix(d.base, "https://"), &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		return conn.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
	}
	for i, step := range []struct {
		text   string
		serial int64 // of the certificate that is written before
		log    string
		serves int64
		status int // of another monitor
	}{
		{"limits: {monitors: 1}", 1, "", 1, 201},
		{"limits: {monitors: 1}", 2, "configuration reloaded", 2, 422},
		{"limits: {monitors: -1}", 3, `configuration not reloaded.*limits.monitors -1 is not allowed`, 2, 422},
		{"limits: {monitors: 2}\nconnections: 7\nkeyless: 9", 3, `configuration reloaded.* connections=7\n.*a restart is needed" keys=keyless`, 3, 201},
	} {
		writeCertificate(t, cert, key, step.serial)
		write(step.text)
		if step.log != "" {
			if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
				t.Fatal(err)
			}
			d.log.Wait(t, step.log)
		}
		if got := serial(); got != step.serves {
			t.Errorf("step %d: certificate %d, want %d", i, got, step.serves)
		}
		if status, text := d.ask(t, "POST", "/v1/social/stream/monitors", fmt.Sprintf(`{"name":"m%d","usernames":["nasa"]}`, i)); status != step.status {
			t.Errorf("step %d: %d %s, want %d", i, status, text, step.status)
		}
	}
	d.stop()
	d.end(t)
}

// asProgram makes the test's own file the program, see TestMain.
const asProgram = "STREAMWATCH_TEST_PROGRAM"

// A first signal drains the server, a second one ends it at once.
func TestSecondSignal(t *testing.T) {
	cmd := exec.Command(os.Args[0], "serve", "-demo", "-config", written(t, "addr: 127.0.0.1:0\ndrain: 1m"))
	var log heard.Output
	cmd.Stderr, cmd.Stdout, cmd.Env = &log, new(bytes.Buffer), append(os.Environ(), asProgram+"=1")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	log.Wait(t, "msg=serving ")
	for _, want := range []string{"msg=\"stopping: a second signal ends it at once\"", ""} {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if want != "" {
			log.Wait(t, want)
		}
	}
	begun := time.Now()
	err := cmd.Wait()
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || !status.Signaled() || time.Since(begun) > 30*time.Second {
		t.Errorf("ended with %v after %s, want the signal's end at once", err, time.Since(begun))
	}
}
