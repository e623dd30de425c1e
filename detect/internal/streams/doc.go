// Package streams has the polls of a detector take what a Streamer pushes: posts of
// accounts, or posts that match queries. Package push keeps the connection; what
// comes goes to the shard that owns the account or query, and is judged and committed
// as a poll that reads nothing.
package streams
