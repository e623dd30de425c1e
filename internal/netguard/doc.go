// Package netguard keeps requests to URLs of customers, which are webhooks and web pages, from
// addresses that are not public. CheckURL checks a URL when it is registered, and Guard checks
// each address at the moment of the connection.
package netguard
