package receipt

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"
)

func key(seed byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{seed}, ed25519.SeedSize))
}

func record() *Record {
	return &Record{
		Run: Run{Started: time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC), Wait: time.Minute, Channels: []string{"webhook"},
			Settings: map[string]string{"rate": "2"}, Environment: map[string]string{"os": "linux"}},
		Posts: []Post{
			{Seq: 1, Account: "ann", Marker: "swb-0001", Due: 1, Sent: 2, Acked: 3, ID: "7", PlatformTime: time.Date(2026, 11, 23, 12, 0, 1, 0, time.UTC)},
			{Seq: 2, Marker: "swb-0002", Due: 5, Error: "refused"},
		},
		Arrivals: []Arrival{{At: 9, Channel: "webhook", Marker: "swb-0001", Signature: Valid, Delivery: "d1"}},
		Finish:   Finish{Finished: 99, Blank: map[string]int{"webhook": 1}},
	}
}

func written(t *testing.T, r *Record, by ed25519.PrivateKey) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, r, by); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestReadGivesWhatWasWritten(t *testing.T) {
	want := record()
	got, err := Read(strings.NewReader(written(t, want, key(1))))
	if err != nil {
		t.Fatal(err)
	}
	want.Run.Kind, want.Run.Schema, want.Run.PublicKey, want.Finish.Kind = "run", Schema, key(1).Public().(ed25519.PublicKey), "finish"
	for i := range want.Posts {
		want.Posts[i].Kind = "post"
	}
	want.Arrivals[0].Kind = "arrival"
	if !reflect.DeepEqual(got, want) {
		t.Errorf("read %+v, want %+v", got, want)
	}
}

// forged seals the lines of a record anew, by another key than line 1 names.
func forged(t *testing.T, text string) string {
	t.Helper()
	lines := text[:strings.LastIndex(strings.TrimSuffix(text, "\n"), "\n")+1]
	sum := sha256.Sum256([]byte(lines))
	seal, err := json.Marshal(Seal{Kind: "seal", SHA256: sum[:], Signature: ed25519.Sign(key(2), sum[:])})
	if err != nil {
		t.Fatal(err)
	}
	return lines + string(seal) + "\n"
}

func TestARecordThatWasChangedIsRefused(t *testing.T) {
	sound := written(t, record(), key(1))
	lines := strings.SplitAfter(strings.TrimSuffix(sound, "\n"), "\n")
	other := strings.SplitAfter(strings.TrimSuffix(written(t, record(), key(2)), "\n"), "\n")
	without := func(i int) string { return strings.Join(append(append([]string{}, lines[:i]...), lines[i+1:]...), "") }
	for _, tc := range []struct {
		name, text string
		seal       bool // ErrSeal
	}{
		{"an arrival that came earlier", strings.Replace(sound, `"at_ns":9`, `"at_ns":8`, 1), true},
		{"a post left out", without(2), true},
		{"an arrival left out", without(3), true},
		{"another setting", strings.Replace(sound, `"rate":"2"`, `"rate":"1"`, 1), true},
		{"cut before the seal", strings.Join(lines[:len(lines)-1], ""), true},
		{"a line behind the seal", sound + lines[2], true},
		{"sealed by a key that the first line does not name", lines[0] + strings.Join(other[1:], ""), true},
		{"changed, and sealed anew by another key", forged(t, strings.Replace(sound, `"at_ns":9`, `"at_ns":8`, 1)), true},
		{"no run", without(0), false},
		{"no finish", without(4), false},
		{"two runs", lines[0] + sound, false},
		{"posts behind arrivals", lines[0] + lines[3] + lines[1] + lines[4] + lines[5], false},
		{"an unknown kind", lines[0] + `{"kind":"note"}` + "\n" + strings.Join(lines[1:], ""), false},
		{"another schema", strings.Replace(sound, Schema, "streamwatch-latency/9", 1), false},
		{"no JSON", "receipts\n", false},
		{"nothing", "", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := Read(strings.NewReader(tc.text))
			if err == nil || errors.Is(err, ErrSeal) != tc.seal {
				t.Errorf("error %v, want one that is ErrSeal: %v", err, tc.seal)
			}
		})
	}
}

func TestAccepted(t *testing.T) {
	for signature, want := range map[string]bool{Valid: true, Unchecked: true, Connection: true, Invalid: false, Absent: false, "": false} {
		if got := (&Arrival{Signature: signature}).Accepted(); got != want {
			t.Errorf("%q accepted: %v, want %v", signature, got, want)
		}
	}
}

func FuzzRead(f *testing.F) {
	var b bytes.Buffer
	if err := Write(&b, record(), key(1)); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add([]byte("{\"kind\":\"seal\"}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := Read(bytes.NewReader(text))
		if err == nil && len(r.Run.PublicKey) != ed25519.PublicKeySize {
			t.Error("a record without a key was read")
		}
	})
}
