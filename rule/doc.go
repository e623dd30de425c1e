// Package rule holds the records of filter rules: advanced search queries with an
// interval or a schedule. So far they are kept, and nothing runs them yet.
//
// A Rule is the stored record; Validate checks a record's fields and Store is
// the port a backend implements to keep them.
package rule
