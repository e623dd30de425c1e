package redistest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

func TestReadValue(t *testing.T) {
	for _, c := range []struct {
		name, in string
		parts    string // joined by |
	}{
		{"request", "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n", "GET|k"},
		{"text", "+OK\r\n", "OK"},
		{"error", "-ERR no\r\n", "ERR no"},
		{"number", ":12\r\n", "12"},
		{"string with line ends in it", "$5\r\na\r\nbc\r\n", "a\r\nbc"},
		{"empty string", "$0\r\n\r\n", ""},
		{"null string", "$-1\r\n", ""},
		{"null array", "*-1\r\n", ""},
		{"empty array", "*0\r\n", ""},
		{"null", "_\r\n", ""},
		{"boolean", "#t\r\n", "t"},
		{"double", ",1.5\r\n", "1.5"},
		{"big number", "(123\r\n", "123"},
		{"long error", "!3\r\nERR\r\n", "ERR"},
		{"verbatim string", "=5\r\ntxt:a\r\n", "txt:a"},
		{"set", "~2\r\n:1\r\n:2\r\n", "1|2"},
		{"map", "%1\r\n+k\r\n:1\r\n", "k|1"},
		{"pushed", ">2\r\n+message\r\n+x\r\n", "message|x"},
		{"array in an array", "*2\r\n*1\r\n:1\r\n:2\r\n", "1|2"},
		{"attribute and the value it belongs to", "|1\r\n+ttl\r\n:9\r\n+OK\r\n", "ttl|9|OK"},
	} {
		t.Run(c.name, func(t *testing.T) {
			const next = "+next\r\n"
			r := bufio.NewReader(strings.NewReader(c.in + next))
			v, err := readValue(r)
			if err != nil {
				t.Fatal(err)
			}
			var parts []string
			for _, p := range v.parts {
				parts = append(parts, string(p))
			}
			if string(v.raw) != c.in || strings.Join(parts, "|") != c.parts {
				t.Errorf("read %q with the parts %q, want %q with %q", v.raw, parts, c.in, c.parts)
			}
			if rest, _ := io.ReadAll(r); string(rest) != next {
				t.Errorf("%q is left, want %q", rest, next)
			}
		})
	}
}

func TestReadValueRefuses(t *testing.T) {
	for _, c := range []struct {
		name, in string
		want     error
	}{
		{"nothing more", "", io.EOF},
		{"half a line", "+O", io.ErrUnexpectedEOF},
		{"half a string", "$3\r\nab", io.ErrUnexpectedEOF},
		{"a string that is not there", "$3\r\n", io.ErrUnexpectedEOF},
		{"half an array", "*2\r\n:1\r\n", io.ErrUnexpectedEOF},
		{"an inline command", "PING\r\n", errProtocol},
		{"a line that ends in LF alone", "+OK\n", errProtocol},
		{"a string that is longer than said", "$1\r\nabc\r\n", errProtocol},
		{"a length that is none", "$x\r\n", errProtocol},
		{"a length below null", "*-2\r\n", errProtocol},
		{"a length beyond all bounds", fmt.Sprintf("$%d\r\n", maxValue+1), errProtocol},
		{"a string beyond all bounds with what is before", fmt.Sprintf("*2\r\n:1\r\n$%d\r\n", maxValue), errProtocol},
		{"arrays too deep", strings.Repeat("*1\r\n", maxDepth+2), errProtocol},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := readValue(bufio.NewReader(strings.NewReader(c.in))); !errors.Is(err, c.want) {
				t.Errorf("the error is %v, want %v", err, c.want)
			}
		})
	}
}

// A value is read without any byte that comes after it, and reading its bytes alone
// gives the same value.
func FuzzReadValue(f *testing.F) {
	for _, in := range []string{"*2\r\n$3\r\nGET\r\n$1\r\nk\r\n", "|1\r\n+a\r\n:1\r\n%1\r\n+k\r\n_\r\n", "$-1\r\n", "*1\r\n*0\r\n+x\r\n", "PING\r\n"} {
		f.Add(in)
	}
	f.Fuzz(func(t *testing.T, in string) {
		r := bufio.NewReader(strings.NewReader(in))
		v, err := readValue(r)
		if err != nil {
			return
		}
		rest, _ := io.ReadAll(r)
		if string(v.raw)+string(rest) != in {
			t.Fatalf("%q was read as %q and %q", in, v.raw, rest)
		}
		again, err := readValue(bufio.NewReader(strings.NewReader(string(v.raw))))
		if err != nil || fmt.Sprintf("%q", again.parts) != fmt.Sprintf("%q", v.parts) {
			t.Fatalf("%q alone gives %q and %v, want %q", v.raw, again.parts, err, v.parts)
		}
	})
}
