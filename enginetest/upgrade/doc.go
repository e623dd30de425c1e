// Package upgrade has what a store holds that an earlier version has written, and what a
// later one has to make of it: Fill writes it through the ports, and Check reads it back
// and runs an engine on it.
//
//	err := upgrade.Fill(ctx, store)  // the earlier version; the test data are such stores
//	err = upgrade.Check(ctx, store)  // any later one
//
// The folder testdata has the stores of each release: CONTRIBUTING.md says how a release
// adds its own. Fill must not change once there is a release whose stores it has made.
package upgrade
