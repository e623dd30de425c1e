// Package search has the records of all owners in memory, so that people find them by what they call
// them: a name, an account, a query, a host or an id. It takes some 200 bytes for a record and as many
// for ten accounts. Package engineui makes its lists of it.
package search
