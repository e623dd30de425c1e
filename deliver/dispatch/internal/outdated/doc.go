// Package outdated finds claimed deliveries whose outcome was recorded while the claim was
// made.
package outdated
