package engineui

import (
	"strings"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
)

// Bounds of what the page of an account shows.
const (
	postsSearched = 500 // an owner's newest events, among which its posts are looked for
	postsShown    = 20
)

// accountData is one account.
type accountData struct {
	detect.AccountStatus
	Posts []deliver.Event // the newest first, of the owner's newest events
}

// account is the page of one account.
func (c *Console) account(v *view) (any, error) {
	name := strings.TrimSpace(v.query.Get("account"))
	if name == "" {
		return nil, errNotFound
	}
	of := v.scope()
	st, ok, err := c.engine.AccountOf(v.Context(), of.owner, name)
	if of.all {
		st, ok, err = c.engine.Account(v.Context(), name)
	}
	switch {
	case err != nil:
		return nil, running(err)
	case !ok:
		return nil, errNotFound
	}
	d := accountData{AccountStatus: st}
	newest, err := v.newest(postsSearched)
	if err != nil {
		return nil, err
	}
	for _, e := range newest {
		if len(d.Posts) < postsShown && sameName(e.AuthorUsername, e.Platform, st.Username) {
			d.Posts = append(d.Posts, e)
		}
	}
	return d, nil
}

// sameName reports whether name is that of an author: "author", or "platform:author".
func sameName(author, platform, name string) bool {
	name = strings.TrimPrefix(name, "@")
	return strings.EqualFold(author, name) || platform != "" && strings.EqualFold(platform+":"+author, name)
}
