// Package transfertest has the tests of package transfer, which need stores of all kinds. Nobody
// imports it: who does would download what all of them need.
package transfertest
