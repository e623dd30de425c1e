package remote

import "testing"

// The scheme of the other service's address may be written in any case.
func TestStreamAddress(t *testing.T) {
	for base, want := range map[string]string{
		"https://h.example":      "wss://h.example/v1/social/stream",
		"HTTPS://h.example/":     "wss://h.example/v1/social/stream",
		"http://h.example:8080/": "ws://h.example:8080/v1/social/stream",
		"Http://h.example":       "ws://h.example/v1/social/stream",
	} {
		s, err := NewStream(StreamConfig{BaseURL: base, Key: "k"})
		if err != nil {
			t.Fatal(err)
		}
		if got := s.address(position{}); got != want {
			t.Errorf("%s: the stream is at %s, want %s", base, got, want)
		}
	}
}
