// Package report makes the figures of a latency benchmark out of its record, and
// shows them as JSON, as a table and as a picture. The same record always gives the
// same figures.
//
//	r := report.Of(record)
//	r.WriteText(os.Stdout)
//	r.WriteSVG(file, "Publication to arrival")
//
// A latency is the time from publication to arrival of a post that was due after the
// warm-up. Percentiles are over all such posts: one that was lost counts as infinitely
// late, so that nobody gains by dropping what is slow.
package report
