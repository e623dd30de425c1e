// Package poster publishes the posts of a latency benchmark: on the fake platform, on
// an account of Mastodon or Bluesky that the user controls, or by a command.
//
// What it costs others is bounded: Limits says how many posts and how often, well below
// what the platforms allow. Nothing is tried twice.
package poster
