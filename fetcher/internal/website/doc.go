// Package website has what adapters share that read from any host on the Internet: which
// hosts they may ask, a transport that connects to no other, and errors that name no
// address.
package website
