package social

import (
	"strconv"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// Author is who a page shows as its posts' author.
type Author struct{ ID, Name string }

// Host is where a platform's pages for people would be.
const Host = "https://social.example"

// URL is the author's page.
func (au Author) URL() string { return Host + "/@" + au.Name }

// Post returns a post of the author in the form of package fetcher.
func (au Author) Post(id uint64, text string, published time.Time) fetcher.Tweet {
	key := FormatID(id)
	return fetcher.Tweet{
		ID:             key,
		Text:           text,
		FullText:       text,
		CreatedAt:      fetcher.FormatTime(published),
		Lang:           "en",
		UserID:         au.ID,
		Username:       au.Name,
		UserName:       au.Name,
		ConversationID: key,
		PublishedAt:    published,
		Permalink:      au.URL() + "/" + key,
		User: &fetcher.User{
			ID: au.ID, Username: au.Name, Name: au.Name,
			CreatedAt: fetcher.FormatTime(Year2000),
		},
	}
}

// AccountName is the handle of account i, from 0.
func AccountName(i int) string {
	number := strconv.Itoa(i + 1)
	return "account" + "0000"[min(4, len(number)):] + number
}
