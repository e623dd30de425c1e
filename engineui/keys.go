package engineui

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/apikey"
	"github.com/streamwatch/streamwatch/internal/search"
)

// keyRow is a key with its state.
type keyRow struct {
	apikey.Key
	State string
}

func (c *Console) keyRow(v *view, e *search.Entry) (keyRow, error) {
	r, err := c.engine.Records().Get(v.Context(), e.Owner, e.Key)
	if err != nil {
		return keyRow{}, err
	}
	k, err := apikey.FromRecord(r)
	return keyRow{k, e.State(c.cfg.Now())}, err
}

// CanManageKeys reports whether the viewer may issue and revoke keys.
func (v *view) CanManageKeys() bool { return v.Viewer.Write && v.Viewer.Admin }

var keysActions = map[string]action{
	"issue": onKeys(func(c *Console, v *view) (done, error) {
		days, err := strconv.Atoi(v.PostForm.Get("days"))
		if text := v.PostForm.Get("days"); text != "" && (err != nil || days < 1 || days > 3650) {
			return done{}, &failure{http.StatusConflict, "The field days is not allowed: want 1 to 3,650, or nothing for a key without an end."}
		}
		r := apikey.IssueRequest{Owner: v.newOwner(), Name: strings.TrimSpace(v.PostForm.Get("name")), Scope: apikey.Scope(v.PostForm.Get("scope"))}
		if days > 0 {
			r.ExpiresAt = c.cfg.Now().Add(time.Duration(days) * 24 * time.Hour)
		}
		if !v.Viewer.All { // an owner cannot raise the rate and the tier of the key in use
			r.RatePerMinute, r.Tier = v.Viewer.RatePerMinute, v.Viewer.Tier
		}
		k, err := c.cfg.Keys.Issue(v.Context(), r)
		return done{To: v.Link("keys"), ID: k.ID, Said: "The key is made, of “" + r.Owner + "”.", Secret: k.Secret}, err
	}),
	"revoke": onKeys(func(c *Console, v *view) (done, error) {
		k, err := c.cfg.Keys.Revoke(v.Context(), v.Owner, v.query.Get("keys"))
		return done{To: v.Link("keys"), ID: k.ID, Said: "The key “" + k.Name + "” is revoked."}, err
	}),
}

// onKeys is an action for those who may manage keys.
func onKeys(do action) action {
	return func(c *Console, v *view) (done, error) {
		if !v.CanManageKeys() {
			return done{}, &failure{http.StatusForbidden, "Your key may not manage keys: that takes the scope admin."}
		}
		d, err := do(c, v)
		return d, refused(err)
	}
}
