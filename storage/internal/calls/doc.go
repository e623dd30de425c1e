// Package calls has the calls in progress of a store, and ends them when the store is closed.
//
//	err := gate.Do(ctx, func(ctx context.Context) error { return read(ctx) })
//	…
//	err = gate.Close(ctx, stop, end) // later calls get the error of New
package calls
