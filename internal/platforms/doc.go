// Package platforms combines several detectors, one per platform, behind the methods of one
// detector. Accounts are named "platform:name". A name without a platform belongs to the first
// platform.
package platforms
