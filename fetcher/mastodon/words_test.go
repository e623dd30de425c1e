package mastodon

import (
	"slices"
	"testing"
)

func TestWords(t *testing.T) {
	tests := []struct {
		name, text, marks, inner, word string
		want                           []int
	}{
		{"a tag", "hi #go", "#＃", "", "go", []int{3, 6}},
		{"in any case", "hi #GoLang", "#＃", "", "golang", []int{3, 10}},
		{"offsets are code points", "😀é #go", "#＃", "", "go", []int{3, 6}},
		{"a tag in another script", "#東京 です", "#＃", "", "東京", []int{0, 3}},
		{"a wide mark", "＃東京", "#＃", "", "東京", []int{0, 3}},
		{"not the start of a longer tag", "#golang", "#＃", "", "go", nil},
		{"after a longer tag", "#golang #go", "#＃", "", "go", []int{8, 11}},
		{"the first of two", "#go #go", "#＃", "", "go", []int{0, 3}},
		{"not inside a word", "x#go", "#＃", "", "go", nil},
		{"a mention", "hi @ann!", "@", ".-@", "ann", []int{3, 7}},
		{"a mention at the end of a sentence", "hi @ann.", "@", ".-@", "ann", []int{3, 7}},
		{"a mention with its host", "@ann@a.example, hi", "@", ".-@", "ann@a.example", []int{0, 14}},
		{"the short form of one with a host", "@ann@a.example, hi", "@", ".-@", "ann", []int{0, 4}},
		{"an address is no mention", "joe@ann", "@", ".-@", "ann", nil},
		{"marks alone", "## @@ #", "#＃", "", "", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := words([]rune(tt.text), tt.marks, tt.inner)[tt.word]; !slices.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}
