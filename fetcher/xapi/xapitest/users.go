package xapitest

import "strings"

// usersByID answers GET /2/users?ids=.
func usersByID(c *call) {
	s := c.s
	c.users("ids", func(id string) *account { return s.byID[id] })
}

// usersByName answers GET /2/users/by?usernames=.
func usersByName(c *call) {
	s := c.s
	c.users("usernames", func(handle string) *account { return s.accounts[strings.ToLower(handle)] })
}

// users answers with the accounts named in a parameter, and with an error for each name that
// does not exist.
func (c *call) users(parameter string, find func(string) *account) {
	names := strings.Split(c.query.Get(parameter), ",")
	if c.query.Get(parameter) == "" || len(names) > 100 {
		c.invalid(parameter, c.query.Get(parameter))
		return
	}
	data, errs := []any{}, []any{}
	for _, name := range names {
		a := find(name)
		if a == nil || a.suspended {
			m := c.missing(parameter, name, a).members()
			delete(m, "status")
			errs = append(errs, m)
			continue
		}
		c.charge("user", a.id)
		data = append(data, c.user(a))
	}
	members := object{}
	if len(data) > 0 {
		members["data"] = data
	}
	if len(errs) > 0 {
		members["errors"] = errs
	}
	c.answer(members)
}

// missing returns the problem of an account that does not exist or is suspended.
func (c *call) missing(parameter, name string, a *account) Problem {
	p := Problem{Kind: "resource-not-found", Title: "Not Found Error", Parameter: parameter, ResourceType: "user", ResourceID: name, Value: name,
		Detail: "Could not find user with " + parameter + ": [" + name + "]."}
	if a != nil {
		p.Detail = "User has been suspended: [" + name + "]."
	}
	return p
}

// user returns an account in the form of an answer.
func (c *call) user(a *account) object {
	m := object{"id": a.id, "name": a.username, "username": a.username}
	if c.has("user.fields", "public_metrics") {
		m["public_metrics"] = object{"post_count": len(a.posts), "followers_count": 1, "following_count": 2, "listed_count": 0}
	}
	if c.has("user.fields", "protected") {
		m["protected"] = a.protected
	}
	return m
}
