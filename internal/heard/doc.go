// Package heard has an output in which tests wait for what a program prints or logs.
package heard
