// Package ssrftest has attempts at server-side request forgery (SSRF), for the tests of netguard
// and of the packages that use it.
package ssrftest
