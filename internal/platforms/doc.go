// Package platforms has several detectors, one for each platform that a program
// watches, answer as one. Accounts are named "platform:name"; a bare name belongs to
// the first platform.
package platforms
