package bluesky

import (
	"slices"
	"strings"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/scan"
)

// embed is the embedded part of a post: app.bsky.embed.images, video, external, record or
// recordWithMedia. In a record it has blobs; in an AppView's #view form it has addresses.
type embed struct {
	Images []struct {
		Image    blob   `json:"image"`    // in a record
		Thumb    string `json:"thumb"`    // in a view
		Fullsize string `json:"fullsize"` // in a view
		Alt      string `json:"alt"`
		Ratio    ratio  `json:"aspectRatio"`
	} `json:"images"`

	Video        blob   `json:"video"`     // in a record
	CID          string `json:"cid"`       // this and the next two: in a view of a video
	Playlist     string `json:"playlist"`  // address of the HLS playlist
	Thumbnail    string `json:"thumbnail"` // address of a picture
	Presentation string `json:"presentation"`
	Alt          string `json:"alt"`
	Ratio        ratio  `json:"aspectRatio"`

	External struct {
		URI   string `json:"uri"`
		Title string `json:"title"`
		Thumb blob   `json:"thumb"`
	} `json:"external"`

	// Record is the embedded record. An embed of the kind recordWithMedia has it in
	// the inner Record. A deleted, blocked or detached record has a URI, too.
	Record struct {
		URI    string    `json:"uri"`
		Record strongRef `json:"record"`
	} `json:"record"`
	Media *embed `json:"media"`
}

// ratio is an app.bsky.embed.defs#aspectRatio.
type ratio struct {
	Width  int64 `json:"width"`
	Height int64 `json:"height"`
}

// blob is a file. A record has the file's content id, a view has its address.
type blob struct{ cid, url string }

// UnmarshalJSON accepts an object with a content id, or an address. For any other value it
// leaves the blob empty.
func (b *blob) UnmarshalJSON(raw []byte) error {
	doc := scan.Value(raw)
	b.url = string(textOf(doc))
	for name, v := range doc.Members() {
		switch string(name) {
		case "ref":
			for name, link := range v.Members() {
				if string(name) == "$link" {
					b.cid = string(textOf(link))
				}
			}
		case "cid": // the form used before 2023
			if b.cid == "" {
				b.cid = string(textOf(v))
			}
		}
	}
	return nil
}

// address returns the file's address. For a file in a record, it is the prefix blobs followed
// by the content id. The result is "" if the address is unknown.
func (b blob) address(blobs string) string {
	if b.url != "" || b.cid == "" || blobs == "" {
		return webURL(b.url)
	}
	return blobs + b.cid
}

// quoted returns the embedded post's URI, or "" if no post is embedded.
func (e *embed) quoted() string {
	for _, uri := range []string{e.Record.URI, e.Record.Record.URI} {
		if isPost(uri) {
			return uri
		}
	}
	return ""
}

// attached returns the embed that has the media: e.Media if the post also quotes another post,
// otherwise e.
func (e *embed) attached() *embed {
	if e.Media != nil {
		return e.Media
	}
	return e
}

// fill sets the media and the link card of t. For blobs, see blob.address.
func (e *embed) fill(t *fetcher.Tweet, blobs string) {
	t.Media = e.media(blobs)
	card := &e.attached().External
	uri := webURL(card.URI)
	if uri == "" {
		return
	}
	t.HasCard = true
	t.ThumbnailTitle = card.Title
	t.ThumbnailURL = card.Thumb.address(blobs)
	if !slices.ContainsFunc(t.URLs, func(u fetcher.URL) bool { return u.ExpandedURL == uri }) {
		_, display, _ := strings.Cut(uri, "://")
		t.URLs = append(t.URLs, fetcher.URL{URL: uri, ExpandedURL: uri, DisplayURL: display})
	}
}

func (e *embed) media(blobs string) []fetcher.Media {
	e = e.attached()
	var media []fetcher.Media
	for _, i := range e.Images {
		m := fetcher.Media{
			MediaKey:        i.Image.cid,
			Type:            "photo",
			URL:             webURL(i.Fullsize),
			PreviewImageURL: webURL(i.Thumb),
			AltText:         i.Alt,
		}
		if m.URL == "" {
			m.URL = i.Image.address(blobs)
		}
		if m.MediaKey == "" && m.URL == "" {
			continue
		}
		m.Width, m.Height = max(i.Ratio.Width, 0), max(i.Ratio.Height, 0)
		media = append(media, m)
	}
	if e.Playlist == "" && e.Video.cid == "" {
		return media
	}
	video := fetcher.Media{
		MediaKey:        e.CID,
		Type:            "video",
		URL:             webURL(e.Playlist),
		PreviewImageURL: webURL(e.Thumbnail),
		Width:           max(e.Ratio.Width, 0),
		Height:          max(e.Ratio.Height, 0),
		AltText:         e.Alt,
	}
	if e.Presentation == "gif" {
		video.Type = "animated_gif"
	}
	if video.MediaKey == "" {
		video.MediaKey = e.Video.cid
	}
	if video.URL == "" {
		video.URL = e.Video.address(blobs)
	}
	return append(media, video)
}
