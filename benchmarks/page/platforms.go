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
	"github.com/streamwatch/streamwatch/fetcher/remote"
	"github.com/streamwatch/streamwatch/fetcher/upstream"
)

// platform is an adapter with the page that its server gives.
type platform struct {
	name    string
	fetcher fetcher.Fetcher
	query   fetcher.TimelineQuery
	request func() error // what Timeline requests, and nothing else
	bodies  [][]byte     // the answers that make up the page
	size    int          // of all bodies
	ids     []string     // newest first
	structs func() structs
}

const server = "http://platform.example"

// answeredAt is when the servers answer, and the adapters' clock.
var answeredAt = time.Date(2026, time.November, 21, 12, 0, 0, 0, time.UTC)

func clock() time.Time { return answeredAt }

// memory is a transport that gives the answers in turns.
type memory struct {
	bodies [][]byte
	next   int
}

func (m *memory) RoundTrip(req *http.Request) (*http.Response, error) {
	body := m.bodies[m.next%len(m.bodies)]
	m.next++
	resp := &http.Response{
		StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: req,
		Header: http.Header{"Date": {answeredAt.Format(http.TimeFormat)}, "Content-Type": {"application/json"}},
	}
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return resp, nil
}

// platforms are Mastodon, Bluesky's AppView, a PDS and another streamwatch service.
func platforms() ([]*platform, error) {
	posts, postIDs := mastodonPage()
	m := &platform{
		name: "mastodon", bodies: [][]byte{posts}, ids: postIDs,
		query: fetcher.TimelineQuery{Username: "ann", UserID: "109302436954721982"},
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
	tweets, tweetIDs := remotePage()
	r := &platform{
		name: "remote", bodies: [][]byte{tweets}, ids: tweetIDs, query: fetcher.TimelineQuery{Username: "ann"},
		structs: func() structs {
			var list struct{ Data []fetcher.Tweet }
			return structs{[]any{&list}, func() (ids []string) {
				for i := range list.Data {
					ids = append(ids, list.Data[i].ID)
				}
				return ids
			}}
		},
	}
	ps := []*platform{m, b, d, r}
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

// connect makes the adapter, and a client for its request.
func (p *platform) connect() (err error) {
	via := &http.Client{Transport: &memory{bodies: p.bodies}}
	var path string
	switch p.name {
	case "mastodon":
		path = "/api/v1/accounts/" + p.query.UserID + "/statuses?limit=40"
		p.fetcher, err = mastodon.New(mastodon.Config{BaseURL: server, HTTP: via, Now: clock})
	case "bluesky":
		path = "/xrpc/app.bsky.feed.getAuthorFeed?limit=50"
		p.fetcher, err = bluesky.New(bluesky.Config{BaseURL: server, HTTP: via, Now: clock})
	case "remote":
		path = "/v1/social/users/ann/latest_tweets"
		p.fetcher, err = remote.New(remote.Config{BaseURL: server, Key: "key", HTTP: via, Now: clock})
	default:
		path = "/xrpc/com.atproto.repo.listRecords?limit=50"
		p.fetcher, err = bluesky.New(bluesky.Config{PDS: server, HTTP: via, Now: clock})
	}
	if err != nil {
		return err
	}
	client, err := upstream.New(upstream.Config{BaseURL: server, HTTP: &http.Client{Transport: &memory{bodies: p.bodies}}, Now: clock})
	p.request = func() error {
		for _, body := range p.bodies {
			resp, err := client.Get(context.Background(), path, nil)
			if err != nil {
				return err
			}
			if len(resp.Body) != len(body) {
				return fmt.Errorf("page: read %d bytes of %d", len(resp.Body), len(body))
			}
			resp.Release()
		}
		return nil
	}
	return err
}
