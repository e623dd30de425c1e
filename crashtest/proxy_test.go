package main

import (
	"io"
	"net"
	"testing"
	"time"
)

func TestProxy(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() { // it sends back what it gets
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = io.Copy(c, c)
			}()
		}
	}()
	p, err := newProxy(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	within := func(d time.Duration, c net.Conn) bool {
		c.SetDeadline(time.Now().Add(d))
		b := make([]byte, 1)
		_, err := c.Write([]byte("x"))
		if err == nil {
			_, err = io.ReadFull(c, b)
		}
		return err == nil && b[0] == 'x'
	}
	answers := func(c net.Conn) bool { return within(time.Minute, c) }
	still := func(c net.Conn) bool { return within(200*time.Millisecond, c) } // what is silent never ends
	dial := func() net.Conn {
		c, err := net.Dial("tcp", p.addr())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	for _, how := range []proxyState{refuses, silent} {
		before := dial()
		if !answers(before) {
			t.Fatal("nothing passes")
		}
		p.cut(how)
		if still(before) || still(dial()) {
			t.Errorf("state %d: something passes", how)
		}
		p.heal()
		if still(before) {
			t.Errorf("state %d: an old connection lives again", how)
		}
		if !answers(dial()) {
			t.Errorf("state %d: nothing passes any more", how)
		}
	}
}
