package enginehttp

import (
	"context"
	"net/http"
	"strconv"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/internal/control"
	"github.com/streamwatch/streamwatch/secret"
)

// sourceAPI serves the monitors or the rules. Its functions are what differs between the two.
type sourceAPI[R any] struct {
	id, list string // names of the path's value and of a list
	page     func(ctx context.Context, owner, status string, page, size int) (list []R, total int, err error)
	get      func(ctx context.Context, owner, id string) (R, error)
	create   func(c *call) (R, secret.Value, error)
	update   func(c *call, id string, common control.Request) (R, secret.Value, error)
	remove   func(ctx context.Context, owner, id string, version int64) error
	// charged returns the total charges of each record. It is nil if these are not shown.
	charged func(ctx context.Context, list []R) ([]credits, error)
	ref     func(r *R) (id string, version int64)
	// append appends a record as JSON. It includes webhook_secret only if the request generated
	// one. It takes a third of the time of encoding/json, since clients list records often.
	append func(b []byte, r *R, generated secret.Value, charged credits) []byte
}

func (s sourceAPI[R]) handleList(c *call) (reply, error) {
	p := c.params()
	pg := p.paging()
	status := p.oneOf("status", "", "active", "paused")
	if p.err != nil {
		return reply{}, p.err
	}
	list, total, err := readList(pg, func(page, size int) ([]R, int, error) { return s.page(c.Context(), c.who.Owner, status, page, size) })
	if err != nil {
		return reply{}, err
	}
	charged := make([]credits, len(list))
	if s.charged != nil {
		if charged, err = s.charged(c.Context(), list); err != nil {
			return reply{}, err
		}
	}
	return reply{value: appended(func(b []byte) []byte {
		b = append(b, `{"`+s.list+`":[`...)
		for i := range list {
			b = s.append(comma(b, i), &list[i], "", charged[i])
		}
		b = strconv.AppendInt(append(b, `],"total":`...), int64(total), 10)
		b = strconv.AppendInt(append(b, `,"page":`...), int64(pg.Page), 10)
		b = strconv.AppendInt(append(b, `,"page_size":`...), int64(pg.PageSize), 10)
		b = strconv.AppendInt(append(b, `,"limit":`...), int64(pg.Limit), 10)
		b = strconv.AppendInt(append(b, `,"offset":`...), pg.Offset, 10)
		return append(b, "}\n"...)
	})}, nil
}

func (s sourceAPI[R]) handleGet(c *call) (reply, error) {
	r, err := s.get(c.Context(), c.who.Owner, c.PathValue(s.id))
	if err != nil {
		return reply{}, err
	}
	return s.answer(c, http.StatusOK, &r, "")
}

func (s sourceAPI[R]) handleCreate(c *call) (reply, error) {
	r, generated, err := s.create(c)
	if err != nil {
		return reply{}, err
	}
	return s.answer(c, http.StatusCreated, &r, generated)
}

// handlePatch changes the fields that are present. null for webhook_url removes the webhook.
func (s sourceAPI[R]) handlePatch(c *call) (reply, error) {
	f := c.form
	common := control.Request{WebhookSecret: (*secret.Value)(f.text("webhook_secret")), Status: (*control.Status)(f.text("status")), Version: c.version}
	if f.has("webhook_url") {
		common.WebhookURL = new(f.optional("webhook_url"))
	}
	r, generated, err := s.update(c, c.PathValue(s.id), common)
	if err != nil {
		return reply{}, err
	}
	return s.answer(c, http.StatusOK, &r, generated)
}

func (s sourceAPI[R]) handleDelete(c *call) (reply, error) {
	return reply{status: http.StatusNoContent}, s.remove(c.Context(), c.who.Owner, c.PathValue(s.id), c.version)
}

// answer returns the answer with a record. A new one has no charges. If the ledger fails, the
// client must get a generated secret all the same.
func (s sourceAPI[R]) answer(c *call, status int, r *R, generated secret.Value) (reply, error) {
	var total credits
	if s.charged != nil && status != http.StatusCreated {
		charged, err := s.charged(c.Context(), []R{*r})
		if err == nil {
			total = charged[0]
		} else if generated == "" {
			return reply{}, err
		}
	}
	id, version := s.ref(r)
	return reply{status: status, version: version, id: id, text: s.append(nil, r, generated, total)}, nil
}

// appendWebhook appends the members about a record's webhook.
func appendWebhook(b []byte, url string, set bool, generated secret.Value) []byte {
	b = appendNullable(append(b, `,"webhook_url":`...), url)
	b = strconv.AppendBool(append(b, `,"webhook_secret_set":`...), set)
	if generated != "" {
		b = fetcher.AppendString(append(b, `,"webhook_secret":`...), string(generated))
	}
	return b
}

// appendNullable appends a text, or null for "".
func appendNullable(b []byte, text string) []byte {
	if text == "" {
		return append(b, "null"...)
	}
	return fetcher.AppendString(b, text)
}
