package fetcher_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/streamwatch/streamwatch/fetcher"
)

// plainTweet has Tweet's fields and tags without its MarshalJSON, so that
// encoding/json writes it from the tags: the reference to compare with.
type plainTweet fetcher.Tweet

// decode reads JSON into maps, with numbers as their text.
func decode(t testing.TB, b []byte) any {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("not JSON: %v\n%s", err, b)
	}
	return v
}

// hostile strings are what a post may carry and an encoder may get wrong.
var hostile = []string{
	"", "plain", `"quoted" \ back\slash`, "line\nfeed\r\ttab", "\x00\x01\x1f\x7f", "\b\f",
	"<script>&amp;</script>", "\u2028\u2029", "émoji 🧵👩‍👩‍👧", "\xff", "a\xffb", "\xed\xa0\x80", "cut \xf0\x9f\x98",
	"\ufffd", "\ufeffbom", "rtl \u202e\u0627", "]}\"},{", `\u0041`, "\xc0\x80",
}

// fill sets every field with a JSON name to a random value that is not zero.
func fill(r *rand.Rand, v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(string(rune('a'+r.IntN(26))) + hostile[r.IntN(len(hostile))])
	case reflect.Int, reflect.Int64:
		v.SetInt(1 + r.Int64N(1<<62))
		if r.IntN(4) == 0 {
			v.SetInt(-v.Int())
		}
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(r, v.Elem())
	case reflect.Slice:
		n := 1 + r.IntN(3)
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			fill(r, v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if tag := v.Type().Field(i).Tag.Get("json"); tag != "" && tag != "-" {
				fill(r, v.Field(i))
			}
		}
	default:
		panic("fill: no values of kind " + v.Kind().String())
	}
}

func TestAppendJSONMatchesTheTags(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		var tweet fetcher.Tweet
		fill(r, reflect.ValueOf(&tweet).Elem())
		want, err := json.Marshal((*plainTweet)(&tweet))
		if err != nil {
			t.Fatal(err)
		}
		got := tweet.AppendJSON(nil)
		if g, w := decode(t, got), decode(t, want); !reflect.DeepEqual(g, w) {
			t.Fatalf("Tweet.AppendJSON differs from the tags:\n got %s\nwant %s", got, want)
		}
		want, err = json.Marshal(tweet.User)
		if err != nil {
			t.Fatal(err)
		}
		got = tweet.User.AppendJSON(nil)
		if g, w := decode(t, got), decode(t, want); !reflect.DeepEqual(g, w) {
			t.Fatalf("User.AppendJSON differs from the tags:\n got %s\nwant %s", got, want)
		}
	}
}

func TestAppendJSONOfEmptyRecords(t *testing.T) {
	tests := []struct {
		name   string
		record any
		got    []byte
		// isNull names the members that are null; every other member is not.
		isNull, absent []string
	}{
		{
			name: "tweet: lists are [], optional objects left out", record: fetcher.Tweet{},
			got: (&fetcher.Tweet{}).AppendJSON(nil), absent: []string{"poll", "place", "visibility", "user", "entry"},
		},
		{
			name: "user: nullable fields are null", record: fetcher.User{},
			got: (&fetcher.User{}).AppendJSON(nil),
			isNull: []string{
				"description", "location", "url", "profile_image_url", "profile_banner_url", "favourites_count",
				"media_count", "verified_type", "is_blue_verified", "created_at_datetime", "protected",
				"possibly_sensitive", "followed_by", "following", "can_dm", "professional_type", "pinned_tweet_ids",
			},
		},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			members := decode(t, tc.got).(map[string]any)
			want := map[string]string{}
			for name, kind := range fields(reflect.TypeOf(tc.record)) {
				want[name] = kind
			}
			for _, name := range tc.absent {
				delete(want, name)
			}
			if len(members) != len(want) {
				t.Errorf("%d members, want %d", len(members), len(want))
			}
			for _, name := range tc.isNull {
				if v, ok := members[name]; !ok || v != nil {
					t.Errorf("%s = %v, want null", name, v)
				}
				delete(want, name)
			}
			for name, kind := range want {
				v, ok := members[name]
				if !ok || v == nil {
					t.Errorf("%s = %v, want a value of kind %s", name, v, kind)
				}
				if _, list := v.([]any); list != (kind == "array") {
					t.Errorf("%s = %v, want kind %s", name, v, kind)
				}
			}
		})
	}
}

func TestAppendJSONListsInsideObjects(t *testing.T) {
	tweet := fetcher.Tweet{
		Hashtags: []fetcher.Hashtag{{Text: "x"}}, UserMentions: []fetcher.Mention{{ID: "1"}},
		Poll: &fetcher.Poll{}, User: &fetcher.User{PinnedTweetIDs: []string{}},
	}
	got := string(tweet.AppendJSON(nil))
	for _, want := range []string{
		`"hashtags":[{"text":"x","indices":[]}]`, `"name":"","indices":[]}]`, `"options":[]`, `"pinned_tweet_ids":[]`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in %s", want, got)
		}
	}
}

func TestTweetDecodesItsOwnEncoding(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 100 {
		var in, out fetcher.Tweet
		fill(r, reflect.ValueOf(&in).Elem())
		first, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(first, &out); err != nil {
			t.Fatal(err)
		}
		if second := out.AppendJSON(nil); !bytes.Equal(in.AppendJSON(nil), second) {
			t.Fatalf("changed by a round trip:\n%s\n%s", first, second)
		}
	}
}

func TestAppendJSONAppends(t *testing.T) {
	tweet := fetcher.Tweet{ID: "1"}
	got := tweet.AppendJSON([]byte("before "))
	if !bytes.HasPrefix(got, []byte(`before {"id":"1",`)) {
		t.Errorf("got %s", got)
	}
	buf := make([]byte, 0, 4096)
	if n := testing.AllocsPerRun(100, func() { tweet.AppendJSON(buf) }); n != 0 {
		t.Errorf("%v allocations into a big enough slice, want 0", n)
	}
}

func TestAppendString(t *testing.T) {
	tests := []struct{ in, want string }{
		{"", `""`},
		{"plain", `"plain"`},
		{`a"b\c`, `"a\"b\\c"`},
		{"\n\r\t", `"\n\r\t"`},
		{"\x00\x1f", `"\u0000\u001f"`},
		{"<&>", `"<&>"`},
		{"\u2028\u2029", `"\u2028\u2029"`},
		{"é🧵", `"é🧵"`},
		{"a\xff\xfeb", "\"a\ufffd\ufffdb\""},
		{"\ufffd", "\"\ufffd\""},
	}
	for _, tc := range tests {
		if got := string(fetcher.AppendString([]byte("x"), tc.in)); got != "x"+tc.want {
			t.Errorf("AppendString(%q) = %s, want x%s", tc.in, got, tc.want)
		}
	}
}

// FuzzAppendString holds the encoder to encoding/json: both decode to the same
// string, in which every byte of invalid UTF-8 has become U+FFFD.
func FuzzAppendString(f *testing.F) {
	for _, s := range hostile {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		reference, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var got, want string
		if err := json.Unmarshal(reference, &want); err != nil {
			t.Fatal(err)
		}
		b := fetcher.AppendString(nil, s)
		if err := json.Unmarshal(b, &got); err != nil {
			t.Fatalf("AppendString(%q) = %s: %v", s, b, err)
		}
		if got != want {
			t.Fatalf("AppendString(%q) reads as %q, want %q", s, got, want)
		}
	})
}

func BenchmarkTweetJSON(b *testing.B) {
	var tweet fetcher.Tweet
	fill(rand.New(rand.NewPCG(5, 6)), reflect.ValueOf(&tweet).Elem())
	b.Run("AppendJSON", func(b *testing.B) {
		b.ReportAllocs()
		buf := make([]byte, 0, 16<<10)
		for b.Loop() {
			buf = tweet.AppendJSON(buf[:0])
		}
	})
	b.Run("encoding-json", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := json.Marshal((*plainTweet)(&tweet)); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// A post of a platform without entries is written as before there were any.
func TestWithoutEntry(t *testing.T) {
	var tweet fetcher.Tweet
	fill(rand.New(rand.NewPCG(3, 4)), reflect.ValueOf(&tweet).Elem())
	entry := tweet.Entry
	tweet.Entry = nil
	without := string(tweet.AppendJSON(nil))
	if strings.Contains(without, `"entry":`) {
		t.Errorf("a post without an Entry has the member: %s", without)
	}
	tweet.Entry = entry
	with := string(tweet.AppendJSON(nil))
	if before, rest, ok := strings.Cut(with, `,"entry":{`); !ok || before+"}" != without || !strings.HasSuffix(rest, "}}") {
		t.Errorf("an Entry changes more than its member:\n%s\n%s", without, with)
	}
	const bare = `{"id":"1","text":"t","full_text":"","created_at":"","lang":"","user_id":"","username":"","user_name":"","favorite_count":0,"retweet_count":0,"reply_count":0,"quote_count":0,"view_count":0,"bookmark_count":0,"favorited":false,"retweeted":false,"bookmarked":false,"possibly_sensitive":false,"is_quote_status":false,"is_retweet":false,"conversation_id":"","in_reply_to_status_id":"","in_reply_to_user_id":"","quoted_status_id":"","retweeted_status_id":"","media":[],"urls":[],"hashtags":[],"user_mentions":[],"edit_tweet_ids":[],"editable_until_msecs":0,"edits_remaining":0,"is_edit_eligible":false,"has_card":false,"thumbnail_url":"","thumbnail_title":"","has_community_notes":false,"source":""}`
	if got := string((&fetcher.Tweet{ID: "1", Text: "t"}).AppendJSON(nil)); got != bare {
		t.Errorf("the wire format has changed:\n got %s\nwant %s", got, bare)
	}
}
