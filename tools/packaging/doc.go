// Package packaging has only tests, of the files in deploy: that Compose, Kubernetes and
// systemd give a server the time and the rights that it needs, and that the image works.
//
//	go test -C tools ./packaging                        # the files
//	STREAMWATCH_PACKAGE=1 go test -C tools ./packaging  # and the program that they run
//
// No container engine is needed: the image's root file system is laid out in a folder, as
// the Dockerfile has it done, and the program runs in it by chroot, for which the tests
// have to run as root.
package packaging
