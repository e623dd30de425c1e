// Package netguard stops requests to customers' URLs (webhooks, web pages) from reaching
// addresses that are not public. CheckURL checks a URL when it is registered. Guard checks each
// address when a connection is made.
package netguard
