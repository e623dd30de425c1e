// Package htmltext turns the HTML of posts into text. Adapters whose platforms write
// posts in HTML share it.
package htmltext
