// Package recorder is a flight recorder: it keeps the last polls of an engine in memory,
// with what the platforms answered and what was decided by it, and plays them again.
//
//	rec, err := recorder.New(recorder.Options{Dir: "/var/lib/streamwatch/recordings"})
//	cfg = rec.Wrap(cfg) // before streamwatch.New
//	…
//	go func() { ran <- rec.Run(ctx) }() // writes dumps: after a gap or a loss, and on Trigger
//	…
//	rec.Trigger("a customer misses a post")
//	rec.Dump(w) // or at once, to any writer
//
// A dump becomes a test: enginetest.Replay plays it to the code as it is now, and reports
// the first decision that differs.
//
// # What is kept
//
// The ring has a record for each poll, of an account or of a query that rules are searched
// for with: when it was due and began, the answers, page by page, with the times at which
// they came, and the error; the state of the account or query before it, so that a ring may
// begin anywhere; and what was decided: which posts were new, for whom, with which stamps and
// body, the cursor, gaps opened and filled, limits that closed calls, and when it was due
// again. The oldest records give way when all together, by estimate, exceed Options.Bytes.
//
// A node of a fleet records what it polls itself. When it gives an account or query up, or
// loses its term, the recording says so, and begins anew when it takes that again. A poll
// that ends when its account or query was given up, or has no subscriber any more, is not
// in it.
//
// The records point at the posts that the engine had anyway. Nothing is encoded, and
// nothing hidden, before a dump is made, or with Options.Every before it is added to the file.
//
// # What is hidden
//
// In a dump every text, name, address, post id and cursor of a platform is replaced by a
// pseudonym: a keyed hash. The key is made for the dump and forgotten when it is written; for
// the file of Options.Every it is kept, with the names, in memory until the file begins anew.
// Equal strings stay equal within a dump. What decisions do not depend on, such as media, is left
// out, and of an error only its kind, status and waiting time are kept. The ids of monitors
// and rules, handlers' names and all times stay. Options.Plain turns this off. No credential,
// header, endpoint or secret ever is in a record.
//
// Pseudonyms hide names from those who do not know them, and from no others. A poll's due
// time follows from the account's name or the query's text, and hash is a hash of it without
// a key: playing needs both. So whoever has a list of names finds out which of them a dump
// has, and which records are theirs. Give a dump only to those who may know whom you watch.
//
// # What is played again
//
// Play gives each account's and query's answers, at the times as recorded, to the code that
// plans, reads, judges, commits and schedules polls, and compares what it decides, byte for
// byte.
// These are taken from the recording and not decided again: when polls begin; what a
// monitor's filter or a rule's query says of a post, for texts are hidden; the overlap that
// was learned from the lateness of all accounts; whether a commit failed. Jitter is decided
// again, since its seed is in the recording. When an account is due again is not compared
// under a budget, or while a stream brings its posts, for then more than its own polls decide.
//
// Searches of rules are played as accounts are, with what the query remembered of the posts
// that the recording shows. When a rule's schedule wants it next is taken from the recording.
// A rule whose posts come from timelines is played with these. Posts that a stream brings
// before the first poll of their target are left out: Played.LeftOut counts them.
//
// # The format
//
// A dump is gzip over lines of JSON, each an object with one member:
//
//	{"recording":{"format":"streamwatch recording","version":1,"made":…,"why":"gap",…}}   the first
//	{"run":{"run":1,"platform":"","epoch":…,"seed":…,…}}       a source from one start to the next
//	{"poll":{"run":1,"target":"account:x…","given":{…},"decided":{…}}}   in the order of their ends
//	{"released":{"run":1,"target":"account:x…"}}               nobody watches it any more, or another node does
//	{"end":{"polls":499,"made":…}}                             the last; Every adds more, with an end of its own
//
// Times are RFC 3339 with nanoseconds; members that end in _ns are nanoseconds, and due and
// settled nanoseconds since the run's epoch. zcat and jq read it:
//
//	zcat outage.jsonl.gz | jq -c 'select(.poll.given.error) | .poll | [.given.at, .target, .given.error]'
//
// Read takes the version that it knows, and no other: a recording is played by the release
// that made it, or, as long as the version is the same, by a later one.
//
// # What survives
//
// A dump that was written survives everything: it gets its name when it is whole. What is
// only in the ring dies with the process: a panic in a goroutine of which DumpOnPanic is
// deferred writes it first; after kill -9, a fatal error of the runtime or a loss of power
// there is latest.jsonl.gz, to which Options.Every adds what is new. The next process renames
// it when it begins, to recording-…-latest.jsonl.gz, and writes its own. Of a file that was cut,
// such as the .recording-… of a process that was killed while it wrote, Read returns what is
// before the cut.
package recorder
