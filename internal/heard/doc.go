// Package heard has an io.Writer that lets tests wait until a program prints or logs a text.
package heard
