// Package manual reads the pages of docs/ for the tests that run what they show.
package manual
