package accounts

import "github.com/streamwatch/streamwatch/fetcher"

// Probed has the accounts in the form of package probe.
type Probed struct{ *Targets }

// Ready reports whether an account is watched, and was read before.
func (p Probed) Ready(slot int32) bool {
	t := p.At(slot)
	return t.Watched() && t.Since != 0
}

// Account returns the name and id of an account.
func (p Probed) Account(slot int32) fetcher.Account {
	return fetcher.Account{Username: p.Username(slot), UserID: p.UserID(slot)}
}
