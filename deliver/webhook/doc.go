// Package webhook sends deliveries as signed HTTP requests. Its Sender is a
// deliver.Sender for the schemes http and https.
//
// A Guard makes the connections, and refuses addresses that are not public. CheckURL
// checks a URL before it is stored. Programs with a sender of their own use both.
package webhook
