package mastodon

import "testing"

func TestCheckAccount(t *testing.T) {
	for _, name := range []string{"Gargron", "a_b", "a.b-c", "7", "ann@example.com", "ann@xn--bcher-kva.example", "ann@localhost:3000"} {
		if err := CheckAccount(name); err != nil {
			t.Errorf("%q is refused: %v", name, err)
		}
	}
	for _, name := range []string{"", "@ann", "ann@", "@ann@example.com", "ann@example.com@example.org", "ann@.example.com", "ann@example.com.", "ann@-", "nasa:ann", "ann example", "ann@host:", "https://example.com/@ann"} {
		if CheckAccount(name) == nil {
			t.Errorf("%q is accepted", name)
		}
	}
}
