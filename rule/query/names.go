package query

import (
	"slices"
	"strings"
)

// name is one spelling of an operator.
type name struct {
	op opID
	in sources // the documents that have this spelling
}

// aliases has the spellings that are not in the operators table.
var aliases = map[string]name{
	"retweets_of_user":       {opRetweetsOf, srp},
	"user_bio":               {opBio, inS | inP},
	"user_bio_location":      {opBioLocation, inS | inP},
	"friends_count":          {opFollowing, inS | inP},
	"statuses_count":         {opTweets, inS | inP},
	"user_in_lists_count":    {opListed, inS | inP},
	"has:derived_user_geo":   {opHasProfileGeo, inP},
	"within_url_title":       {opURLTitle, inS | inP},
	"within_url_description": {opURLDescription, inS | inP},
	"in_reply_to_status_id":  {opInReplyTo, srp},
	"retweets_of_status_id":  {opRetweetsOfTweet, srp},
	"has:symbols":            {opHasCashtags, inP},
	"has:media_link":         {opHasMedia, srp},
	"has:videos":             {opHasVideos, srp},
	"filter:native_video":    {opHasVideos, inW},
	"geo_bounding_box":       {opBoundingBox, srp},
}

// names has every spelling in lower case. The spelling of an operator without an argument
// includes its value, as in "is:retweet".
var names = func() map[string]name {
	m := map[string]name{}
	for op := range opCount {
		row := &operators[op]
		if len(row.name) > 1 {
			in := row.in &^ inW
			if row.name == row.web {
				in = row.in
			}
			m[row.name] = name{op, in}
		}
		if len(row.web) > 1 && row.web != row.name {
			m[row.web] = name{op, inW}
		}
	}
	for s, n := range aliases {
		m[s] = n
	}
	return m
}()

// prefixes has the names that form an operator together with their value.
var prefixes = map[string]bool{"is": true, "has": true, "filter": true, "include": true, "exclude": true}

// nearest returns up to three spellings similar to s that d accepts, or "".
func nearest(s string, d Dialect) string {
	if len(s) > 32 {
		return ""
	}
	s = strings.ToLower(s)
	type candidate struct {
		name     string
		distance int
	}
	var found []candidate
	for known, n := range names {
		if n.in&d.accepts() == 0 {
			continue
		}
		if e := editDistance(s, known); e <= 1+len(s)/4 {
			found = append(found, candidate{known, e})
		}
	}
	slices.SortFunc(found, func(a, b candidate) int {
		if a.distance != b.distance {
			return a.distance - b.distance
		}
		return strings.Compare(a.name, b.name)
	})
	var list []string
	for _, c := range found[:min(3, len(found))] {
		if !strings.Contains(c.name, ":") {
			c.name += ":"
		}
		list = append(list, c.name)
	}
	return strings.Join(list, ", ")
}

// editDistance returns the Levenshtein distance of a and b, in bytes.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
