package mastodon

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// These methods let encoding/json decode a status by its tags, as the reference.

func (i *ident) UnmarshalJSON(b []byte) error {
	*i = ident(identText(b))
	return nil
}

func (l *list[T]) UnmarshalJSON(b []byte) error {
	*l = nil
	var raws []json.RawMessage
	if b[0] != '[' {
		return nil
	}
	if err := json.Unmarshal(b, &raws); err != nil {
		return err
	}
	for _, raw := range raws {
		var item *T
		if err := lenient(json.Unmarshal(raw, &item)); err != nil {
			return err
		}
		if item != nil && len(*l) < maxItems {
			*l = append(*l, *item)
		}
	}
	return nil
}

// lenient drops the error about a value of another type, which decode ignores.
func lenient(err error) error {
	var other *json.UnmarshalTypeError
	if errors.As(err, &other) {
		return nil
	}
	return err
}

func checkDecode(t *testing.T, doc []byte) {
	t.Helper()
	var want, got status
	if err := lenient(json.Unmarshal(doc, &want)); err != nil {
		t.Fatalf("error %v from encoding/json", err)
	}
	got.decode(doc, false)
	if g, w := got.tweet(), want.tweet(); !reflect.DeepEqual(g, w) {
		t.Errorf("decoded\n%s\nwant\n%s", g.AppendJSON(nil), w.AppendJSON(nil))
	}
}

func TestDecodeAsEncodingJSONDoes(t *testing.T) {
	for _, doc := range append(slices.Clone(documents),
		`{}`, `null`, `[]`, `"x"`, `{"id":"1","id":null}`, `{"content":"a","content":null}`,
		`{"account":{"id":"1","acct":"a"},"account":{"note":"x"}}`, `{"account":{"id":"1"},"account":null}`, `{"account":{"id":"1"},"account":"x"}`,
		`{"tags":[{"name":"a"}],"tags":{}}`, `{"tags":[null,{"name":"a"},7,{"name":"b"}]}`, `{"favourites_count":1e400}`, `{"favourites_count":-0.4}`,
		`{"sensitive":true,"sensitive":null}`, `{"sensitive":true,"sensitive":"false"}`, "{\"content\":\"a\xff\\ud800\\u003cb\\u003e\"}",
		`{"reblog":{"id":"1","reblog":{"id":"2","content":"x"},"content":"y"}}`,
	) {
		checkDecode(t, []byte(doc))
	}
}

// A boost within a boost, which no server sends, is not decoded: each level would take
// another pass over the document.
func TestBoostOfABoostIsNone(t *testing.T) {
	var s status
	s.decode([]byte(strings.Repeat(`{"id":"1","reblog":`, 3)+"null"+strings.Repeat("}", 3)), false)
	if s.Reblog == nil || s.Reblog.ID != "1" || s.Reblog.Reblog != nil {
		t.Errorf("boosted %+v, want a post without another in it", s.Reblog)
	}
}

// documents are those of documents_test.go.
var documents = []string{mastodonPost, mastodonBoost, gotosocialPost, akkomaPost, numericPost, nullPost, oddPost}

func FuzzDecodeStatus(f *testing.F) {
	for _, doc := range documents {
		f.Add([]byte(doc))
	}
	f.Add([]byte(`{"id":1,"reblog":{"id":3,"reblog":{}}}`))
	escapedName := regexp.MustCompile(`\\[^"]*"\s*:`)
	f.Fuzz(func(t *testing.T, doc []byte) {
		if doc = bytes.ToLower(bytes.TrimSpace(doc)); json.Valid(doc) && !escapedName.Match(doc) {
			checkDecode(t, doc)
		}
	})
}

// A post does not refer to the answer, whose memory is used again.
func TestPostsShareNoMemoryWithTheAnswer(t *testing.T) {
	body := []byte("[" + strings.Join(documents, ",") + "]")
	want, err := decodePage(slices.Clone(body), nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := decodePage(body, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range body {
		body[i] = 'x'
	}
	if !reflect.DeepEqual(got, want) {
		t.Error("posts changed with the memory of the answer")
	}
}
