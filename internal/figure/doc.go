// Package figure shows figures to people: numbers, durations and shares as text, and charts as values
// for HTML templates. Charts are SVG with attributes and classes, because a strict
// Content-Security-Policy allows no inline styles; the words around them are HTML, since the pictures
// are stretched to their place.
package figure
