// Package website is for adapters that read from any host on the Internet. It checks which
// hosts they may read, has a transport that connects only to these, and describes errors
// without naming addresses.
package website
