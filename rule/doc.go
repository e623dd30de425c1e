// Package rule holds filter rules: advanced search queries that run at an
// interval or on a schedule and deliver what they find like monitors do.
//
// A Rule is the stored record; Validate checks a record's fields and Store is
// the port a backend implements to keep them.
package rule
