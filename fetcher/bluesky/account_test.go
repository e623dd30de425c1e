package bluesky

import "testing"

func TestCheckAccount(t *testing.T) {
	for _, name := range []string{"alice.example.com", "Alice.Example.com", "bsky.app", "did:plc:z72i7hdynmk6r22z27h6tvur", "did:web:example.com"} {
		if err := CheckAccount(name); err != nil {
			t.Errorf("%q is refused: %v", name, err)
		}
	}
	for _, name := range []string{"", "alice", "@alice.example.com", "alice@example.com", "alice.example.com.", "a_b.example.com", "192.0.2.1", "did:", "did:plc:", "did:PLC:x", "nasa:alice.example.com"} {
		if CheckAccount(name) == nil {
			t.Errorf("%q is accepted", name)
		}
	}
}
