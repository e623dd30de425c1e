package feed

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"net/url"
	"strconv"
	"strings"
)

// jsonFeed is a JSON Feed of version 1.1 (jsonfeed.org/version/1.1) or 1.0.
type jsonFeed struct {
	Title    string       `json:"title"`
	HomePage string       `json:"home_page_url"`
	FeedURL  string       `json:"feed_url"`
	NextURL  string       `json:"next_url"`
	Language string       `json:"language"`
	Authors  []jsonAuthor `json:"authors"`
	Author   jsonAuthor   `json:"author"`
	Hubs     []struct {
		Type string `json:"type"`
		URL  string `json:"url"`
	} `json:"hubs"`
	Items jsonItems `json:"items"`
}

// jsonItems are items in a list, or in an object with numbers as keys, which is how PHP writes a
// list with gaps. They are nil for anything else.
type jsonItems []jsonItem

func (list *jsonItems) UnmarshalJSON(raw []byte) (err error) {
	if raw[0] != '{' {
		return json.Unmarshal(raw, (*[]jsonItem)(list))
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	for _, _ = d.Token(); d.More(); {
		key, _ := d.Token()
		if _, other := strconv.Atoi(key.(string)); other != nil {
			*list = nil
			return nil
		}
		var item jsonItem
		err = cmp.Or(d.Decode(&item), err)
		*list = append(*list, item)
	}
	return err
}

type jsonAuthor struct {
	Name string `json:"name"`
}

type jsonItem struct {
	ID          jsonID       `json:"id"`
	URL         string       `json:"url"`
	ExternalURL string       `json:"external_url"`
	Title       string       `json:"title"`
	HTML        string       `json:"content_html"`
	Text        string       `json:"content_text"`
	Summary     string       `json:"summary"`
	Image       string       `json:"image"`
	BannerImage string       `json:"banner_image"`
	Published   jsonID       `json:"date_published"`
	Modified    jsonID       `json:"date_modified"`
	Authors     []jsonAuthor `json:"authors"`
	Author      jsonAuthor   `json:"author"`
	Tags        []string     `json:"tags"`
	Language    string       `json:"language"`
	Attachments []struct {
		URL  string          `json:"url"`
		Type string          `json:"mime_type"`
		Size json.RawMessage `json:"size_in_bytes"`
	} `json:"attachments"`
}

// jsonID is an id or a date. In the JSON it may be a string or a number.
type jsonID string

func (id *jsonID) UnmarshalJSON(raw []byte) error {
	var number json.Number
	if json.Unmarshal(raw, (*string)(id)) != nil && json.Unmarshal(raw, &number) == nil {
		*id = jsonID(number)
	}
	return nil
}

// parseJSON parses a JSON Feed. It ignores members of a wrong type.
func parseJSON(text string, base *url.URL) (*document, error) {
	if objects(text) > maxMarks {
		return nil, malformed("more than %d objects", maxMarks)
	}
	var f jsonFeed
	read := func() bool { // whether the JSON is valid; members of a wrong type stay empty
		f = jsonFeed{}
		err := json.Unmarshal([]byte(text), &f)
		return err == nil || errors.As(err, new(*json.UnmarshalTypeError))
	}
	cut := false
	if !read() {
		text = strings.Map(func(r rune) rune { return max(r, ' ') }, text) // no string may have a character below
		if cut = !read(); cut {
			if text = mendJSON(text); text == "" {
				return nil, malformed("JSON that cannot be read")
			}
			read()
		}
	}
	if len(f.Items) > maxItems {
		return nil, malformed("more than %d items", maxItems)
	}
	if f.Items == nil {
		return nil, malformed("JSON that is no JSON Feed: want items")
	}
	doc := &document{cut: cut, self: absolute(base, f.FeedURL), next: absolute(base, f.NextURL), about: about{
		title: oneLine(f.Title), link: absolute(base, f.HomePage), language: f.Language, authors: jsonAuthors(f.Authors, f.Author),
	}}
	for _, h := range f.Hubs {
		if href := absolute(base, h.URL); href != "" && strings.EqualFold(h.Type, "websub") && len(doc.hubs) < maxLinks {
			doc.hubs = append(doc.hubs, href)
		}
	}
	for i := range f.Items {
		if e := f.Items[i].entry(base); e.guid != "" || e.link != "" || e.title != "" || e.body() != "" { // otherwise it is not an object
			doc.entries = append(doc.entries, e)
		}
	}
	return doc, nil
}

func (i *jsonItem) entry(base *url.URL) entry {
	e := entry{
		guid: strings.TrimSpace(string(i.ID)), title: oneLine(i.Title), summary: i.Summary, content: i.HTML,
		published: readDate(string(i.Published)), updated: readDate(string(i.Modified)),
		authors: jsonAuthors(i.Authors, i.Author), categories: tidy(i.Tags), language: i.Language,
	}
	if e.content == "" {
		e.content, e.plain = i.Text, i.Text != ""
	}
	if e.published.at.IsZero() {
		e.published = e.updated
	}
	for _, ref := range []string{i.URL, i.ExternalURL, e.guid} {
		if e.link == "" && (ref != e.guid || isWeb(ref)) {
			e.link = absolute(base, ref)
		}
	}
	for _, ref := range []string{i.Image, i.BannerImage} {
		if e.image == "" {
			e.image = absolute(base, ref)
		}
	}
	for _, a := range i.Attachments {
		e.enclose(base, a.URL, a.Type, strings.Trim(string(a.Size), `"`))
	}
	return e
}

// jsonAuthors returns list, the authors of version 1.1. If list is empty, it returns one, the
// author of version 1.0.
func jsonAuthors(list []jsonAuthor, one jsonAuthor) (people []person) {
	if len(list) == 0 {
		list = []jsonAuthor{one}
	}
	for _, a := range list {
		if name := strings.TrimSpace(a.Name); name != "" {
			people = append(people, person{name: name})
		}
	}
	return people
}
