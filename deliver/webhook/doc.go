// Package webhook sends deliveries as signed HTTP requests. Its Sender is a
// deliver.Sender for the schemes http and https.
//
// Connections pass a Guard, which keeps them off addresses that are not public.
// CheckURL judges a URL before it is stored. Programs with a sender of their own use
// both.
package webhook
