package accounts

import "github.com/streamwatch/streamwatch/fetcher"

// Probed are the accounts as probes see them.
type Probed struct{ *Targets }

// Ready reports whether an account is watched and was read before.
func (p Probed) Ready(slot int32) bool {
	t := p.At(slot)
	return t.Watched() && t.Since != 0
}

// Account names an account.
func (p Probed) Account(slot int32) fetcher.Account {
	return fetcher.Account{Username: p.Username(slot), UserID: p.UserID(slot)}
}
