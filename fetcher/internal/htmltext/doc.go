// Package htmltext turns HTML into text: that of posts, whose platforms write it, and that of
// pages. What is text, and what separates words, is the same for both.
package htmltext
