package scan_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/scan"
)

// Example finds the posts of a page that are not known yet.
func Example() {
	plan := scan.NewPlan("feed", []string{"cursor"}, []string{"post.uri", "reason.$type"})
	page := []byte(`{"feed": [{"post": {"uri": "at://b", "text": "new"}}, {"post": {"uri": "at://a"}, "reason": {"$type": "repost"}}], "cursor": "older"}`)
	s := plan.Scan(page)
	for s.Next() {
		uri, _ := s.Value(0).Text()
		reason, ok := s.Value(1).Text()
		fmt.Printf("%s %q %t: %d bytes\n", uri, reason, ok, len(s.Element()))
	}
	if err := s.Err(); err != nil {
		panic(err)
	}
	n, _ := s.Len()
	cursor, _ := s.Top(0).Text()
	fmt.Printf("%d posts, older ones at %s", n, cursor)
	// Output:
	// at://b "" false: 42 bytes
	// at://a "repost" true: 58 bytes
	// 2 posts, older ones at older
}

// read returns what a plan finds: the elements of the last list with their values in
// brackets, then the members of the document.
func read(p *scan.Plan, doc string, element, top int) (found string, elements []string, err error) {
	s := p.Scan([]byte(doc))
	var lines []string
	for s.Next() {
		elements = append(elements, string(s.Element()))
		var b strings.Builder
		for i := range element {
			if i > 0 {
				b.WriteByte(' ')
			}
			b.Write(s.Value(i))
		}
		lines = append(lines, "["+b.String()+"]")
	}
	n, ok := s.Len()
	if s.Err() == nil {
		lines, elements = lines[len(lines)-n:], elements[len(elements)-n:]
	}
	if !ok {
		lines = append(lines, "no list")
	}
	for i := range top {
		lines = append(lines, string(s.Top(i)))
	}
	return strings.Join(lines, " "), elements, s.Err()
}

func TestList(t *testing.T) {
	plan := scan.NewPlan("", nil, []string{"id", "a.b", "a.c.d"})
	for _, tc := range []struct{ name, doc, want string }{
		{"empty", ` [ ] `, ``},
		{"members in any order", `[{"a":{"c":{"d":3},"b":2},"x":[{"id":9}],"id":1}]`, `[1 2 3]`},
		{"white space everywhere", " [ {\n\"id\" :\t1 , \"a\" : { \"b\" : [ 2 , { } ] } } ,\r{ } ] ", `[1 [ 2 , { } ] ] [  ]`},
		{"elements that are no objects", `[7, "id", null, ["id", 1], {"id":1}]`, `[  ] [  ] [  ] [  ] [1  ]`},
		{"nothing is left over from the element before", `[{"id":1,"a":{"b":2}},{"x":1}]`, `[1 2 ] [  ]`},
		{"the way leads through no object", `[{"a":5},{"a":[{"b":1}]},{"a":{"c":null}}]`, `[  ] [  ] [  ]`},
		{"the last of several", `[{"id":1,"id":null}]`, `[null  ]`},
		{"an object that comes twice", `[{"a":{"b":1,"c":{"d":2}},"a":{"b":3}}]`, `[ 3 2]`},
		{"a value after it that is no object", `[{"a":{"b":1},"a":null}]`, `[ 1 ]`},
		{"another case, and escapes", `[{"ID":1,"\u0069d":2}]`, `[  ]`},
		{"a name of the same length", `[{"if":1,"ix":1}]`, `[  ]`},
		{"an object in place of the list", `{"id":[{"id":1}]}`, `no list`},
		{"a text", `"[]"`, `no list`},
		{"a number", `-0.5e+1`, `no list`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, _, err := read(plan, tc.doc, 3, 0)
			if err != nil || got != tc.want {
				t.Errorf("found %q, error %v, want %q", got, err, tc.want)
			}
		})
	}
}

func TestListInAnObject(t *testing.T) {
	plan := scan.NewPlan("records", []string{"cursor", "meta.n"}, []string{"uri", "s", "zz"})
	for _, tc := range []struct{ name, doc, want string }{
		{"members on both sides", `{"cursor":"c","records":[{"uri":1},{"uri":2}],"meta":{"m":0,"n":[1]}}`, `[1 ] [2 ] "c" [1]`},
		{"no members", `{ }`, `no list  `},
		{"an empty list", `{"records":[]}`, ` `},
		{"white space", " { \"records\" : [ { \"uri\" : 1 } ] , \"cursor\" : null } ", `[1 ] null `},
		{"a value that is no list", `{"records":{"uri":1},"cursor":1}`, `no list 1 `},
		{"a list of that name further in", `{"meta":{"records":[{"uri":1}]}}`, `no list  `},
		{"the last of several lists", `{"records":[{"uri":1},{"uri":2}],"cursor":1,"records":[{"uri":3}],"cursor":2}`, `[3 ] 2 `},
		{"the last of several lists is empty", `{"records":[{"uri":1}],"records":[]}`, ` `},
		{"no list after a list", `{"records":[{"uri":1}],"records":null}`, `[1 ]  `},
		{"a list in place of the object", `[{"records":[{"uri":1}]}]`, `no list  `},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, _, err := read(plan, tc.doc, 2, 2)
			if err != nil || got != tc.want {
				t.Errorf("found %q, error %v, want %q", got, err, tc.want)
			}
		})
	}
}

// broken are documents that are not JSON, with what the error says of each.
var broken = []struct{ name, doc, want string }{
	{"nothing", ``, "unexpected end of JSON at byte 0"},
	{"white space alone", " \n", "unexpected end of JSON at byte 2"},
	{"an HTML page", `<!DOCTYPE html>`, `not JSON at byte 0: '<'`},
	{"a list that is cut", `[1,`, "unexpected end of JSON at byte 3"},
	{"a list without its end", `[1`, "unexpected end of JSON at byte 2"},
	{"a comma at the end", `[1,]`, `not JSON at byte 3: ']'`},
	{"a comma at the start", `[,1]`, `not JSON at byte 1: ','`},
	{"two values", `[1 2]`, `not JSON at byte 3: '2'`},
	{"something after the list", `[] []`, `not JSON at byte 3: '['`},
	{"the wrong bracket", `[1}`, `not JSON at byte 2: '}'`},
	{"the wrong bracket further in", `[[1}]`, `not JSON at byte 3: '}'`},
	{"the wrong bracket of nothing", `[[}]`, `not JSON at byte 2: '}'`},
	{"a name without quotes", `[{id:1}]`, `not JSON at byte 2: 'i'`},
	{"a name without a value", `[{"id"}]`, `not JSON at byte 6: '}'`},
	{"a name without a colon", `[[{"id" 1}]]`, `not JSON at byte 8: '1'`},
	{"a comma before the brace", `[{"id":1,}]`, `not JSON at byte 9: '}'`},
	{"a comma before the brace further in", `[[{"id":1,}]]`, `not JSON at byte 10: '}'`},
	{"a text without its end", `["abc`, "unexpected end of JSON at byte 5"},
	{"a control character", "[\"abcdefgh\tij\"]", `not JSON at byte 10: '\t'`},
	{"an unknown escape", `["\x41"]`, `not JSON at byte 3: 'x'`},
	{"an escape that is cut", `["\u00`, "unexpected end of JSON at byte 6"},
	{"an escape that is not hexadecimal", `["\u00g0"]`, `not JSON at byte 6: 'g'`},
	{"an escape with a control character for a digit", "[\"\\u00\x110\"]", `not JSON at byte 6: '\x11'`},
	{"a zero before a number", `[01]`, `not JSON at byte 2: '1'`},
	{"a plus", `[+1]`, `not JSON at byte 1: '+'`},
	{"a minus alone", `[-]`, `not JSON at byte 2: ']'`},
	{"no digits after the point", `[1.]`, `not JSON at byte 3: ']'`},
	{"no digits before the point", `[.5]`, `not JSON at byte 1: '.'`},
	{"no digits in the exponent", `[1e+]`, `not JSON at byte 4: ']'`},
	{"a word", `[nul]`, `not JSON at byte 4: ']'`},
	{"a word in capitals", `[True]`, `not JSON at byte 1: 'T'`},
	{"a form feed", "[\f1]", `not JSON at byte 1: '\f'`},
	{"a byte-order mark", "\ufeff[]", `not JSON at byte 0: 'ï'`},
	{"an object that is cut", `{"records":[{"id":1}]`, "unexpected end of JSON at byte 21"},
	{"a comma at the document's end", `{"records":[],}`, `not JSON at byte 14: '}'`},
	{"two members without a comma", `{"records":[] "cursor":1}`, `not JSON at byte 14: '"'`},
}

func TestMalformed(t *testing.T) {
	for _, plan := range []*scan.Plan{
		scan.NewPlan("", nil, []string{"id"}),
		scan.NewPlan("records", []string{"cursor"}, []string{"id"}),
	} {
		for _, tc := range broken {
			t.Run(tc.name, func(t *testing.T) {
				_, _, err := read(plan, tc.doc, 1, 0)
				if !errors.Is(err, fetcher.ErrMalformed) || !strings.HasSuffix(err.Error(), tc.want) {
					t.Errorf("error %v, want ErrMalformed and %q", err, tc.want)
				}
				if json.Valid([]byte(tc.doc)) {
					t.Error("encoding/json accepts it")
				}
			})
		}
	}
}

func TestDepth(t *testing.T) {
	nested := func(open, inner, closing string, n int) string {
		return strings.Repeat(open, n) + inner + strings.Repeat(closing, n)
	}
	list := scan.NewPlan("", nil, []string{"a.a"})
	member := scan.NewPlan("a", nil, []string{"a"})
	deep := scan.NewPlan("", nil, []string{strings.Repeat("a.", 10_000) + "a"})
	for _, tc := range []struct {
		name string
		plan *scan.Plan
		doc  string
		want bool
	}{
		{"lists", list, nested("[", "", "]", 10_000), true},
		{"one list more", list, nested("[", "", "]", 10_001), false},
		{"objects", list, nested(`{"a":`, "1", "}", 10_000), true},
		{"one object more", list, nested(`{"a":`, "1", "}", 10_001), false},
		{"both", member, nested(`{"a":[`, "", "]}", 5_000), true},
		{"one pair more", member, nested(`{"a":[`, "", "]}", 5_001), false},
		{"an object in the last list", member, nested(`{"a":[`, "{}", "]}", 5_000), false},
		{"both, looked at from a list", list, nested(`[{"a":`, "1", "}]", 5_000), true},
		{"looked at all the way", deep, "[" + nested(`{"a":`, "1", "}", 9_999) + "]", true},
		{"and one object more", deep, "[" + nested(`{"a":`, "1", "}", 10_000) + "]", false},
		{"and one list more", list, nested(`[{"a":`, "[]", "}]", 5_000), false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if json.Valid([]byte(tc.doc)) != tc.want {
				t.Fatalf("encoding/json does not see it so")
			}
			_, _, err := read(tc.plan, tc.doc, 1, 0)
			if (err == nil) != tc.want {
				t.Errorf("error %v, want none: %t", err, tc.want)
			}
			if !tc.want && (!errors.Is(err, fetcher.ErrMalformed) || !strings.Contains(err.Error(), "more than 10000 levels of JSON")) {
				t.Errorf("error %v, want one about the depth", err)
			}
		})
	}
}

func TestText(t *testing.T) {
	for _, tc := range []struct {
		name string
		v    string
		want string
		ok   bool
	}{
		{"plain", `"abc"`, "abc", true},
		{"empty", `""`, "", true},
		{"outside ASCII", `"né 🚀"`, "né 🚀", true},
		{"escapes", `"a\n\u00e9\ud83d\ude80\/"`, "a\né🚀/", true},
		{"every escape", `"\"\\\/\b\f\n\r\t\u00E9"`, "\"\\/\b\f\n\r\té", true},
		{"half a pair", `"\ud83d"`, "\ufffd", true},
		{"half a pair, then a letter", `"\ud83d\u0041"`, "\ufffdA", true},
		{"a pair after half of one", `"\ud83d\ud83d\ude80"`, "\ufffd🚀", true},
		{"a pair the wrong way round", `"\ude80\ud83d"`, "\ufffd\ufffd", true},
		{"invalid UTF-8", "\"a\xff\"", "a\ufffd", true},
		{"none", ``, "", false},
		{"null", `null`, "", false},
		{"a number", `12`, "", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, ok := scan.Value(tc.v).Text()
			if string(got) != tc.want || ok != tc.ok {
				t.Errorf("%q, %t, want %q, %t", got, ok, tc.want, tc.ok)
			}
		})
	}
}

func TestPlanRefuses(t *testing.T) {
	nine := strings.Split("a b c d e f g h i", " ")
	for _, tc := range []struct {
		name         string
		list         string
		top, element []string
		want         string
	}{
		{"an empty path", "", nil, []string{""}, `path "" is not allowed`},
		{"an empty name", "", nil, []string{"a..b"}, `path "a..b" is not allowed`},
		{"a path twice", "", nil, []string{"a", "b", "a"}, `path "a" is not allowed twice`},
		{"too many", "x", nine, nil, "9 paths are not allowed: want at most 8"},
		{"members of a list", "", []string{"cursor"}, nil, `top ["cursor"] is not allowed`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.HasPrefix(got, "scan: ") || !strings.Contains(got, tc.want) {
					t.Errorf("panic %s, want %q", got, tc.want)
				}
			}()
			scan.NewPlan(tc.list, tc.top, tc.element)
		})
	}
	scan.NewPlan("x", nine[:scan.MaxPaths], nine[:scan.MaxPaths])
}

func TestScanAllocatesNothing(t *testing.T) {
	plan := scan.NewPlan("feed", []string{"cursor"}, []string{"post.uri", "pinned"})
	doc := []byte(`{"feed":[` + strings.Repeat(`{"post":{"uri":"at://é","x":[1,{"y":"\n"}]},"pinned":true},`, 30) + `0],"cursor":"c"}`)
	n := 0
	if allocs := testing.AllocsPerRun(100, func() {
		s := plan.Scan(doc)
		for s.Next() {
			uri, _ := s.Value(0).Text()
			n += len(uri)
		}
		if s.Err() != nil {
			n = 0
		}
	}); allocs != 0 || n == 0 {
		t.Errorf("%g allocations, %d bytes, want none and some", allocs, n)
	}
}

// The plans of FuzzScan.
var (
	atTop  = scan.NewPlan("", nil, []string{"id", "a.b"})
	inside = scan.NewPlan("list", []string{"top"}, []string{"id", "a.b"})
)

// Elements with much in common are read like others: with the same members in the same
// order or another, with members that are missing in some, and with objects that are
// equal or nearly equal.
func TestElementsLikeTheOnesBefore(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	objects := []string{`{}`, `{"y":1}`, `{"y":{"b":[{}]},"id":"z"}`, `{"y":{"b":[{}]},"id":"zz"}`, `{"b":{"y":1}}`, `{ "b":2 }`}
	names := []string{`"id":`, `"a":`, `"x":`, `"x" :`, `"xx": `, `"b":`}
	for i := range maxMembers + 10 {
		names = append(names, fmt.Sprintf(`"m%d":`, i))
	}
	n := 1000
	if testing.Short() {
		n = 300
	}
	for range n {
		var elements []string
		order := names[:2+random.IntN(len(names)-2)]
		for range 2 + random.IntN(5) {
			var members []string
			for _, name := range order {
				switch random.IntN(12) {
				case 0:
					continue
				case 1:
					members = append(members, `"a":{"b":{"y":1},"x":`+objects[random.IntN(len(objects))]+`}`)
				case 2:
					members = append(members, name+[]string{`null`, `-1.5`, `"é"`, `[{"y":1}]`}[random.IntN(4)])
				}
				members = append(members, name+objects[(len(name)+random.IntN(8)/7)%len(objects)])
			}
			elements = append(elements, `{`+strings.Join(members, ",")+`}`)
		}
		doc := []byte(`[` + strings.Join(elements, ", ") + `]`)
		if random.IntN(3) == 0 { // and one byte wrong
			doc[random.IntN(len(doc))] = `{}[]",:1x `[random.IntN(10)]
		}
		var list lastList
		_ = json.Unmarshal(doc, &list)
		compare(t, atTop, doc, list, nil)
		if t.Failed() {
			t.Fatalf("of %s", doc)
		}
	}
}
