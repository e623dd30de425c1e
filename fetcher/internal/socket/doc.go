// Package socket is the WebSocket client that adapters with streams share. It connects, calls a
// function for each message, and detects that the server is gone.
package socket
