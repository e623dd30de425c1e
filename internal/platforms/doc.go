// Package platforms makes several detectors, one for each platform that a program watches,
// usable as one. Accounts are named "platform:name"; a name without a platform belongs to the
// first one.
package platforms
