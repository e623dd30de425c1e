//go:build unix

package webhook

import "syscall"

// look reads from the socket without waiting. The connection can be used only if there is
// nothing to read, not even its end.
func (k *conn) look(fd uintptr) bool {
	var b [1]byte
	_, err := syscall.Read(int(fd), b[:])
	k.silent = err == syscall.EAGAIN
	return true
}
