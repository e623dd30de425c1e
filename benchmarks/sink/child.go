package sink

import (
	"bufio"
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"strconv"
	"sync/atomic"
	"time"
)

// Child runs the sink, until standard input ends, when Start began this process;
// it is false in any other.
func Child() bool {
	env := os.Getenv(variable)
	if env == "" {
		return false
	}
	if err := serve(env); err != nil {
		fmt.Fprintln(os.Stderr, "sink:", err)
		os.Exit(1)
	}
	return true
}

func serve(env string) error {
	var c Config
	if err := json.Unmarshal([]byte(env), &c); err != nil {
		return err
	}
	var h hello
	var secure *tls.Config
	if c.TLS {
		cert, ca, err := certificate(c.Hosts)
		if err != nil {
			return err
		}
		h.CA = ca
		secure = &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
	}
	var state child
	for i := range c.Hosts {
		l, err := net.Listen("tcp", hostIP(i).String()+":0")
		if err != nil {
			return err
		}
		h.Addrs = append(h.Addrs, l.Addr().String())
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				if secure != nil {
					conn = tls.Server(conn, secure)
				}
				go state.talk(conn)
			}
		}()
	}
	if err := json.NewEncoder(os.Stdout).Encode(h); err != nil {
		return err
	}
	_, err := io.Copy(io.Discard, os.Stdin)
	return err
}

func hostIP(i int) net.IP { return net.IPv4(127, 0, 0, byte(i+1)) }

// child counts the requests it has answered.
type child struct{ posts atomic.Int64 }

const ok = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"

// talk answers the requests of a connection until it ends.
func (s *child) talk(conn net.Conn) {
	defer conn.Close()
	r := bufio.NewReaderSize(conn, 4096)
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return
		}
		_, rest, _ := bytes.Cut(line, []byte(" "))
		path, _, _ := bytes.Cut(rest, []byte(" "))
		where := string(path)
		length := 0
		for {
			if line, err = r.ReadSlice('\n'); err != nil {
				return
			}
			if len(line) <= 2 {
				break
			}
			if value, is := headerValue(line, "content-length:"); is {
				if length, err = strconv.Atoi(string(value)); err != nil {
					return
				}
			}
		}
		if _, err := r.Discard(length); err != nil {
			return
		}
		if where == "/posts" {
			b, _ := json.Marshal(s.posts.Load())
			fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(b), b)
			continue
		}
		s.posts.Add(1)
		if _, err := io.WriteString(conn, ok); err != nil {
			return
		}
	}
}

// headerValue is what follows a name, which is in lower case, at the begin of a
// line.
func headerValue(line []byte, name string) ([]byte, bool) {
	if len(line) < len(name) || !bytes.EqualFold(line[:len(name)], []byte(name)) {
		return nil, false
	}
	return bytes.TrimSpace(line[len(name):]), true
}

// certificate signs itself for the hosts.
func certificate(hosts int) (tls.Certificate, string, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, "", err
	}
	t := x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "benchmark sink"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	for i := range hosts {
		t.IPAddresses = append(t.IPAddresses, hostIP(i))
	}
	der, err := x509.CreateCertificate(rand.Reader, &t, &t, &key.PublicKey, key)
	if err != nil {
		return tls.Certificate{}, "", err
	}
	ca := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, ca, nil
}
