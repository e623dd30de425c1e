package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strings"
)

// client is as much of a WebSocket client as takes little CPU: it reads text
// frames.
type client struct {
	net.Conn
	r *bufio.Reader
}

// dial connects and reads up to the connected frame.
func dial(addr string, small bool) (client, error) {
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		return client{}, err
	}
	c := client{nc, bufio.NewReader(nc)}
	if small {
		if err := nc.(*net.TCPConn).SetReadBuffer(sockets); err != nil {
			return c, err
		}
	}
	fmt.Fprintf(nc, "GET / HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"+
		"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nX-Api-Key: key\r\n\r\n", addr)
	for line, first := "", true; line != "\r\n"; first = false {
		if line, err = c.r.ReadString('\n'); err != nil {
			return c, err
		}
		if first && !strings.HasPrefix(line, "HTTP/1.1 101 ") {
			return c, fmt.Errorf("websocket: answered %s", strings.TrimSpace(line))
		}
	}
	_, err = c.seq() // of the connected frame
	return c, err
}

// seq reads a frame and gives the first "seq" in it.
func (c client) seq() (n uint64, err error) {
	var head [2]byte
	if _, err := io.ReadFull(c.r, head[:]); err != nil {
		return 0, err
	}
	if head[0] != 0x81 {
		return 0, fmt.Errorf("websocket: a frame begins with %#x: want text", head[0])
	}
	size := int(head[1])
	if size == 126 {
		var long [2]byte
		if _, err := io.ReadFull(c.r, long[:]); err != nil {
			return 0, err
		}
		size = int(binary.BigEndian.Uint16(long[:]))
	}
	frame := make([]byte, size)
	if _, err := io.ReadFull(c.r, frame); err != nil {
		return 0, err
	}
	_, rest, ok := strings.Cut(string(frame), `"seq":`)
	if !ok {
		return 0, fmt.Errorf("websocket: no seq in %s", frame)
	}
	for _, d := range []byte(rest) {
		if d < '0' || d > '9' {
			break
		}
		n = n*10 + uint64(d-'0')
	}
	return n, nil
}
