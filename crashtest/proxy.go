package main

import (
	"net"
	"sync"
)

// proxy passes bytes between a node and the server of its store. It can cut their connections.
type proxy struct {
	listener net.Listener
	server   string
	group    sync.WaitGroup

	mu    sync.Mutex
	state proxyState
	conns map[net.Conn]bool // of both sides
}

// proxyState is what a proxy does with connections.
type proxyState int

const (
	passes  proxyState = iota
	refuses            // connections are closed, new ones immediately
	silent             // connections stay open, but no bytes get through
	ended
)

func newProxy(server string) (*proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{listener: l, server: server, conns: make(map[net.Conn]bool)}
	p.group.Go(p.accept)
	return p, nil
}

func (p *proxy) addr() string { return p.listener.Addr().String() }

// cut cuts the connections. The node notices immediately or, if to is silent, only by getting no
// answer.
func (p *proxy) cut(to proxyState) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.state = to
	if to != silent {
		p.closeAll()
	}
}

// heal lets new connections pass. What was held back is lost.
func (p *proxy) heal() { p.cut(passes) }

func (p *proxy) closeAll() {
	for c := range p.conns {
		c.Close()
		delete(p.conns, c)
	}
}

func (p *proxy) close() {
	p.listener.Close()
	p.cut(ended)
	p.group.Wait()
}

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.server)
		if err != nil || !p.adopt(client, server) {
			client.Close()
			if err == nil {
				server.Close()
			}
			continue
		}
		p.group.Go(func() { p.pass(server, client) })
		p.group.Go(func() { p.pass(client, server) })
	}
}

func (p *proxy) adopt(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state == refuses || p.state == ended {
		return false
	}
	for _, c := range conns {
		p.conns[c] = true
	}
	return true
}

// pass copies bytes from one side to the other. It closes both when one has ended.
func (p *proxy) pass(to, from net.Conn) {
	defer func() {
		to.Close()
		from.Close()
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.conns, from)
	}()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		p.mu.Lock()
		state := p.state
		p.mu.Unlock()
		if state == passes && n > 0 {
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
