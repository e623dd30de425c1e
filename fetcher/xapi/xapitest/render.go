package xapitest

import (
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// editable is how long a post can be edited.
const editable = 30 * time.Minute

// posts answers with a page of posts and bills them. next is the token of the next page.
func (c *call) posts(shown []*post, next string) {
	meta := object{"result_count": len(shown)}
	members := object{"meta": meta}
	if len(shown) == 0 {
		c.answer(members)
		return
	}
	meta["newest_id"], meta["oldest_id"] = shown[0].id, shown[len(shown)-1].id
	if next != "" {
		meta["next_token"] = next
	}
	members["data"], members["includes"] = c.records(shown)
	if len(members["includes"].(object)) == 0 {
		delete(members, "includes")
	}
	c.answer(members)
}

// records returns posts in the form of an answer, and their included records. It bills both.
func (c *call) records(shown []*post) (data []any, includes object) {
	in := included{c: c, posts: map[string]bool{}, users: map[string]bool{}}
	for _, p := range shown {
		c.charge("post", p.id)
		data = append(data, c.post(p))
		in.of(p)
	}
	return data, in.members()
}

// post returns a post in the form of an answer: id, text, and the requested fields.
func (c *call) post(p *post) object {
	m := object{"id": p.id, "text": escape(p.text)}
	at := p.at.UTC()
	fields := object{
		"created_at":      at.Format(timeLayout),
		"lang":            "en",
		"conversation_id": p.root().id,
		"public_metrics": object{"repost_count": 1, "like_count": 2, "reply_count": 3, "quote_count": 4,
			"impression_count": 5, "bookmark_count": 6},
		"possibly_sensitive": false,
		"edit_controls": object{"edits_remaining": max(0, 6-len(p.history)), "is_edit_eligible": p.relation != "replied_to",
			"editable_until": at.Add(editable).Format(timeLayout)},
	}
	if p.long != "" {
		fields["note_post"] = object{"text": escape(p.long)}
	}
	if p.photo != "" {
		fields["attachments"] = object{"media_keys": []string{"3_" + p.id}}
	}
	for name, v := range fields {
		if c.has("post.fields", name) {
			m[name] = v
		}
	}
	if c.has("expansions", "author_id") {
		m["author_id"] = p.author.id
	}
	if c.has("expansions", "referenced_posts") && p.ref != nil {
		m["referenced_posts"] = []object{{"type": p.relation, "id": p.ref.id}}
	}
	return m
}

// included collects the records to put into the member includes of an answer.
type included struct {
	c            *call
	posts, users map[string]bool // ids that were added already
	data         struct{ posts, users, media []any }
}

// of adds the records to which a post refers, if the request has their expansions.
func (in *included) of(p *post) {
	c := in.c
	if c.has("expansions", "author_id") {
		in.user(p.author)
	}
	if p.photo != "" && c.has("expansions", "attachments.media_keys") {
		in.data.media = append(in.data.media, object{"media_key": "3_" + p.id, "type": "photo", "url": p.photo, "width": 640, "height": 480})
	}
	if !c.has("expansions", "referenced_posts") {
		return
	}
	other := p.ref
	if other == nil || !other.deletedAt.IsZero() || in.posts[other.id] {
		return
	}
	in.posts[other.id] = true
	c.charge("post", other.id)
	in.data.posts = append(in.data.posts, c.post(other))
}

func (in *included) user(a *account) {
	if in.users[a.id] {
		return
	}
	in.users[a.id] = true
	in.c.charge("user", a.id)
	in.data.users = append(in.data.users, in.c.user(a))
}

func (in *included) members() object {
	m := object{}
	for name, list := range map[string][]any{"posts": in.data.posts, "users": in.data.users, "media": in.data.media} {
		if len(list) > 0 {
			m[name] = list
		}
	}
	return m
}

// record returns a post as a Tweet, to match it with queries.
func (p *post) record() fetcher.Tweet {
	t := fetcher.Tweet{ID: p.id, Text: p.text, FullText: p.long, Username: p.author.username, UserID: p.author.id, Lang: "en", PublishedAt: p.at,
		IsQuoteStatus: p.relation == "quoted", IsRetweet: p.relation == "retweeted"}
	if p.relation == "replied_to" {
		t.InReplyToStatusID, t.InReplyToUserID = p.ref.id, p.ref.author.id
	}
	if t.FullText == "" {
		t.FullText = t.Text
	}
	for _, word := range strings.Fields(t.Text) {
		if strings.HasPrefix(word, "#") && len(word) > 1 {
			t.Hashtags = append(t.Hashtags, fetcher.Hashtag{Text: word[1:]})
		}
	}
	if p.photo != "" {
		t.Media = []fetcher.Media{{MediaKey: "3_" + p.id, Type: "photo", URL: p.photo}}
	}
	return t
}
