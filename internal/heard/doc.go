// Package heard has an io.Writer with which tests wait for what a program prints or logs.
package heard
