// Package socket reads a platform's WebSocket: it connects, hands over each
// message, and notices when the other side is gone. The adapters that stream
// share it.
package socket
