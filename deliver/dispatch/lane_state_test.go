package dispatch

import "testing"

// A record that was changed while it was read is read again.
func TestRecordState(t *testing.T) {
	for _, row := range []struct {
		name string
		is   recordState
		want recordState
	}{
		{"read", recordUnread.begun().read(recordActive), recordActive},
		{"read again", recordActive.begun().read(recordRefusing), recordRefusing},
		{"the read failed", recordActive.begun().read(recordUnread), recordUnread},
		{"changed before the read", recordActive.changed().begun().read(recordActive), recordActive},
		{"changed during the read", recordActive.begun().changed().read(recordActive), recordUnread},
		{"changed twice during the read", recordUnread.begun().changed().changed().read(recordDeleted), recordUnread},
		{"read twice at once", recordUnread.begun().changed().begun().read(recordActive), recordUnread},
		{"a read that nobody waits for", recordUnread.read(recordActive), recordUnread},
		{"changed after it was deleted", recordDeleted.changed(), recordUnread},
	} {
		if row.is != row.want {
			t.Errorf("%s: state %d, want %d", row.name, row.is, row.want)
		}
	}
}

func TestPace(t *testing.T) {
	ok, failed := func(p pace) pace { return p.after(true, false, false, false) }, func(p pace) pace { return p.after(false, false, false, false) }
	slow, hung := func(p pace) pace { return p.after(true, true, false, false) }, func(p pace) pace { return p.after(false, true, true, false) }
	waits := func(p pace) pace { return p.after(false, false, false, true) }
	for _, row := range []struct {
		name string
		is   pace
		want string
	}{
		{"before the first attempt", pace{}, "untried"},
		{"accepted", ok(pace{}), "steady"},
		{"failed", failed(pace{}), "steady"},
		{"accepted slowly", slow(pace{}), "slow"},
		{"accepted soon again", ok(slow(pace{})), "steady"},
		{"timed out", hung(ok(pace{})), "hung"},
		{"timed out, then failed", failed(hung(pace{})), "cautious"},
		{"timed out, then accepted", ok(hung(pace{})), "steady"},
		{"asked to wait", waits(ok(pace{})), "cautious"},
		{"asked to wait, then failed", failed(waits(pace{})), "cautious"},
		{"asked to wait, then accepted slowly", slow(waits(pace{})), "slow"},
	} {
		if got := row.is.String(); got != row.want {
			t.Errorf("%s: %s, want %s", row.name, got, row.want)
		}
	}
}
