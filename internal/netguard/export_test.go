package netguard

import "net"

// Dialer is what a guard connects with.
func Dialer(g *Guard) *net.Dialer { return g.dialer() }
