package recorder

import "github.com/streamwatch/streamwatch/detect/internal/poll"

// OpenGap records a poll that has opened a gap.
func OpenGap(r *Recorder) {
	tape{r}.Ended(&poll.Record{Env: &poll.Env{}, Decided: poll.Decided{Opened: &poll.Gap{Target: "account:a"}}})
}
