package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/bluesky"
	"github.com/streamwatch/streamwatch/fetcher/mastodon"
	"github.com/streamwatch/streamwatch/fetcher/scan"
	"github.com/streamwatch/streamwatch/fetcher/upstream"
)

// platform is an adapter with the page that its server gives.
type platform struct {
	name    string
	fetcher fetcher.Fetcher // of a server without validators
	tagged  fetcher.Fetcher // of one with an ETag
	query   fetcher.TimelineQuery
	request func() error // what Timeline requests, and nothing else
	check   func() error // the same of a server with an ETag, which is named
	bodies  [][]byte     // the answers that make up the page
	size    int          // of all bodies
	ids     []string     // newest first
	plan    *scan.Plan   // finds ids, value 0
	structs func() structs
}

const server = "http://platform.example"

// answeredAt is when the servers answer, and the adapters' clock.
var answeredAt = time.Date(2026, time.November, 21, 12, 0, 0, 0, time.UTC)

func clock() time.Time { return answeredAt }

// memory is a transport that gives the answers in turns. With a tag it sends
// it, and 304 to whoever names it.
type memory struct {
	bodies [][]byte
	tag    string
	next   int
}

func (m *memory) RoundTrip(req *http.Request) (*http.Response, error) {
	body := m.bodies[m.next%len(m.bodies)]
	m.next++
	resp := &http.Response{
		StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: req,
		Header: http.Header{"Date": {answeredAt.Format(http.TimeFormat)}, "Content-Type": {"application/json"}},
	}
	if m.tag != "" {
		resp.Header["Etag"] = []string{m.tag}
		if req.Header.Get("If-None-Match") == m.tag {
			resp.StatusCode, body = http.StatusNotModified, nil
		}
	}
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return resp, nil
}

// platforms are Mastodon, Bluesky's AppView and a PDS.
func platforms() ([]*platform, error) {
	posts, postIDs := mastodonPage()
	m := &platform{
		name: "mastodon", bodies: [][]byte{posts}, ids: postIDs,
		query: fetcher.TimelineQuery{Username: "ann", UserID: "109302436954721982"},
		plan:  scan.NewPlan("", nil, []string{"id", "created_at", "pinned"}),
		structs: func() structs {
			var list []status
			return structs{[]any{&list}, func() (ids []string) {
				for i := range list {
					ids = append(ids, list[i].ID)
				}
				return ids
			}}
		},
	}
	items, itemIDs := feedPage()
	b := &platform{
		name: "bluesky", bodies: [][]byte{items}, ids: itemIDs,
		query: fetcher.TimelineQuery{Username: handle, UserID: did},
		plan: scan.NewPlan("feed", []string{"cursor"}, []string{
			"post.uri", "post.indexedAt", "post.record.createdAt", "reason.$type", "reason.uri", "reason.indexedAt", "reason.by.did",
		}),
		structs: func() structs {
			var f feed
			return structs{[]any{&f}, func() (ids []string) {
				for i := range f.Feed {
					ids = append(ids, f.Feed[i].Post.URI)
				}
				return ids
			}}
		},
	}
	listed, recordIDs := recordPage()
	d := &platform{
		name: "bluesky PDS", bodies: [][]byte{listed, []byte(`{"records":[]}`)}, ids: recordIDs,
		query: b.query,
		plan:  scan.NewPlan("records", []string{"cursor"}, []string{"uri", "value.createdAt"}),
		structs: func() structs {
			var r, reposts records
			return structs{[]any{&r, &reposts}, func() (ids []string) {
				for i := range r.Records {
					ids = append(ids, r.Records[i].URI)
				}
				return ids
			}}
		},
	}
	ps := []*platform{m, b, d}
	for _, p := range ps {
		for _, body := range p.bodies {
			p.size += len(body)
		}
		if err := p.connect(); err != nil {
			return nil, err
		}
	}
	return ps, nil
}

// tag is the ETag of every answer of a server that sends one.
const tag = `W/"c2ad08f3d6f0ab7e1b7c5f8f4d1f3b52"`

// connect makes the adapters, and clients for their requests.
func (p *platform) connect() (err error) {
	serve := func(tag string) *http.Client { return &http.Client{Transport: &memory{bodies: p.bodies, tag: tag}} }
	var path string
	var open func(*http.Client) (fetcher.Fetcher, error)
	switch p.name {
	case "mastodon":
		path = "/api/v1/accounts/" + p.query.UserID + "/statuses?limit=40"
		open = func(c *http.Client) (fetcher.Fetcher, error) {
			return mastodon.New(mastodon.Config{BaseURL: server, HTTP: c, Now: clock})
		}
	case "bluesky":
		path = "/xrpc/app.bsky.feed.getAuthorFeed?limit=50"
		open = func(c *http.Client) (fetcher.Fetcher, error) {
			return bluesky.New(bluesky.Config{BaseURL: server, HTTP: c, Now: clock})
		}
	default:
		path = "/xrpc/com.atproto.repo.listRecords?limit=50"
		open = func(c *http.Client) (fetcher.Fetcher, error) {
			return bluesky.New(bluesky.Config{PDS: server, HTTP: c, Now: clock})
		}
	}
	if p.fetcher, err = open(serve("")); err != nil {
		return err
	}
	if p.tagged, err = open(serve(tag)); err != nil {
		return err
	}
	if p.request, err = p.requests(serve(""), path, nil); err != nil {
		return err
	}
	p.check, err = p.requests(serve(tag), path, http.Header{"If-None-Match": {tag}})
	return err
}

// requests asks for all parts of the page, which come whole, or not at all
// under a condition.
func (p *platform) requests(via *http.Client, path string, condition http.Header) (func() error, error) {
	client, err := upstream.New(upstream.Config{BaseURL: server, HTTP: via, Now: clock})
	if err != nil {
		return nil, err
	}
	return func() error {
		for _, body := range p.bodies {
			resp, err := client.Get(context.Background(), path, condition)
			if err != nil {
				return err
			}
			if want := len(body); condition == nil && len(resp.Body) != want {
				return fmt.Errorf("page: read %d bytes of %d", len(resp.Body), want)
			}
			resp.Release()
			if resp.NotModified != (condition != nil) {
				return fmt.Errorf("page: not modified %t, want %t", resp.NotModified, condition != nil)
			}
		}
		return nil
	}, nil
}
