package enginetest

import (
	"io"

	"github.com/streamwatch/streamwatch/detect/recorder"
)

// TB is what Replay needs of a *testing.T.
type TB interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// Replay plays a recording of package recorder to the engine's code as it is now, in the
// recording's time, and fails the test where a decision is not the recorded one, byte for
// byte: with the first difference of each account and query, ten at most. What is
// compared, and what is taken from the recording, package recorder says. A recording that
// cannot be read, or has nothing to play, ends the test; of one that was cut, recorder.Read
// returns what there is.
//
//	func TestOutage(t *testing.T) {
//		f, err := os.Open("testdata/outage.jsonl.gz")
//		if err != nil {
//			t.Fatal(err)
//		}
//		defer f.Close()
//		enginetest.Replay(t, f)
//	}
func Replay(t TB, r io.Reader) recorder.Played {
	t.Helper()
	rec, err := recorder.Read(r)
	if err != nil {
		t.Fatalf("enginetest: %v", err)
		return recorder.Played{}
	}
	played, err := rec.Play()
	if err != nil {
		t.Fatalf("enginetest: %v", err)
		return played
	}
	if played.Polls == 0 {
		t.Fatalf("enginetest: nothing of the recording can be played: %d polls, of streams alone", played.LeftOut)
	}
	const most = 10
	for i, d := range played.Differences {
		if i == most {
			t.Errorf("and %d more accounts and queries", len(played.Differences)-most)
			break
		}
		t.Errorf("%s", d)
	}
	return played
}
