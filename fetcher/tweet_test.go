package fetcher_test

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// fields gives a record's JSON names and the kinds of their values; a "?" marks
// a scalar that can be null.
func fields(t reflect.Type) map[string]string {
	kinds := map[reflect.Kind]string{
		reflect.String: "string", reflect.Int64: "integer", reflect.Float64: "number", reflect.Bool: "boolean",
		reflect.Slice: "array", reflect.Struct: "object", reflect.Map: "object",
	}
	out := map[string]string{}
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		ft, null := t.Field(i).Type, ""
		if ft.Kind() == reflect.Pointer {
			ft = ft.Elem()
			if ft.Kind() != reflect.Struct {
				null = "?"
			}
		}
		out[name] = kinds[ft.Kind()] + null
	}
	return out
}

// TestWireNames lists the members of each record in the wire format's document
// and, behind a +, those added to it.
func TestWireNames(t *testing.T) {
	tests := []struct {
		record any
		want   string
	}{
		{fetcher.User{}, `id:string username:string name:string created_at:string description:string? location:string?
			url:string? profile_image_url:string? profile_banner_url:string? followers_count:integer
			following_count:integer tweet_count:integer listed_count:integer favourites_count:integer?
			media_count:integer? verified:boolean verified_type:string? is_blue_verified:boolean?
			created_at_datetime:string? protected:boolean? possibly_sensitive:boolean? followed_by:boolean?
			following:boolean? can_dm:boolean? professional_type:string? pinned_tweet_ids:array`},
		{fetcher.Tweet{}, `id:string text:string full_text:string created_at:string lang:string user_id:string
			username:string user_name:string favorite_count:integer retweet_count:integer reply_count:integer
			quote_count:integer view_count:integer bookmark_count:integer favorited:boolean retweeted:boolean
			bookmarked:boolean possibly_sensitive:boolean is_quote_status:boolean is_retweet:boolean
			conversation_id:string in_reply_to_status_id:string in_reply_to_user_id:string quoted_status_id:string
			retweeted_status_id:string media:array urls:array hashtags:array user_mentions:array poll:object
			place:object edit_tweet_ids:array editable_until_msecs:integer edits_remaining:integer
			is_edit_eligible:boolean has_card:boolean thumbnail_url:string thumbnail_title:string
			has_community_notes:boolean source:string +visibility:string +user:object +entry:object`},
		{fetcher.Entry{}, `+title:string +link:string +categories:array +enclosures:array`},
		{fetcher.Enclosure{}, `+url:string +type:string +length:integer`},
		{fetcher.Media{}, `media_key:string url:string preview_image_url:string width:integer height:integer
			duration_ms:integer view_count:integer alt_text:string +type:string`},
		{fetcher.URL{}, `url:string expanded_url:string display_url:string unwound_url:string`},
		{fetcher.Hashtag{}, `text:string indices:array`},
		{fetcher.Mention{}, `id:string username:string name:string indices:array`},
		{fetcher.Poll{}, `id:string end_datetime:string duration_minutes:integer options:array`},
		{fetcher.PollOption{}, `position:integer label:string votes:integer`},
		{fetcher.Place{}, `id:string full_name:string name:string country:string country_code:string`},
		{fetcher.Community{}, `id:string name:string description:string member_count:integer is_member:boolean
			is_nsfw:boolean invites_policy:string created_at:integer created_at_datetime:string banner:object
			creator_id:string creator_username:string creator_name:string admin_id:string admin_username:string
			admin_name:string rules:array`},
		{fetcher.Banner{}, `url:string width:integer height:integer`},
		{fetcher.CommunityRule{}, `name:string description:string`},
		{fetcher.ProductDetail{}, `market:string product:object`},
		{fetcher.Product{}, `item_id:integer shop_id:integer name:string price:number price_min:number
			price_max:number price_before_discount:number? discount:string? currency:string rating_star:number
			rating_count_total:integer rating:object stock:integer sold:integer historical_sold:integer
			liked_count:integer comment_count:integer view_count:integer image:string images:array
			description:string brand:string? categories:array attributes:array models:array tier_variations:array
			shop_location:string is_official_shop:boolean item_status:string ctime_utc:integer created_at:string`},
		{fetcher.ProductAttribute{}, `name:string value:string`},
		{fetcher.ProductModel{}, `model_id:integer name:string price:number stock:integer`},
		{fetcher.TierVariation{}, `name:string options:array`},
	}
	for _, tc := range tests {
		rt := reflect.TypeOf(tc.record)
		t.Run(rt.Name(), func(t *testing.T) {
			want := map[string]string{}
			for _, f := range strings.Fields(tc.want) {
				name, kind, _ := strings.Cut(strings.TrimPrefix(f, "+"), ":")
				want[name] = kind
			}
			got := fields(rt)
			for _, name := range slices.Sorted(maps.Keys(want)) {
				if got[name] != want[name] {
					t.Errorf("%s is %q, want %q", name, got[name], want[name])
				}
				delete(got, name)
			}
			for name := range got {
				t.Errorf("%s is not in the wire format", name)
			}
		})
	}
}

func TestParseTime(t *testing.T) {
	at := time.Date(2018, 3, 26, 16, 33, 26, 0, time.UTC)
	tests := []struct {
		name, in string
		want     time.Time // zero for an error
	}{
		{"textual form", "Mon Mar 26 16:33:26 +0000 2018", at},
		{"textual form with an offset", "Mon Mar 26 18:33:26 +0200 2018", at},
		{"a wrong weekday is ignored", "Fri Mar 26 16:33:26 +0000 2018", at},
		{"RFC 3339", "2018-03-26T16:33:26Z", at},
		{"RFC 3339 with milliseconds", "2018-03-26T16:33:26.771Z", at.Add(771 * time.Millisecond)},
		{"RFC 3339 with an offset", "2018-03-26T18:33:26+02:00", at},
		{"empty", "", time.Time{}},
		{"a number", "1522082006", time.Time{}},
		{"no year", "Mon Mar 26 16:33:26 +0000", time.Time{}},
		{"no such day", "Mon Feb 30 16:33:26 +0000 2018", time.Time{}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			got, err := fetcher.ParseTime(tc.in)
			if (err != nil) != tc.want.IsZero() || !got.Equal(tc.want) {
				t.Errorf("ParseTime(%q) = %v, %v, want %v", tc.in, got, err, tc.want)
			}
		})
	}
}

func TestFormatTime(t *testing.T) {
	at := time.Date(2018, 3, 26, 18, 33, 26, 771e6, time.FixedZone("", 2*3600))
	const want = "Mon Mar 26 16:33:26 +0000 2018"
	got := fetcher.FormatTime(at)
	if got != want {
		t.Errorf("FormatTime = %q, want %q", got, want)
	}
	back, err := fetcher.ParseTime(got)
	if err != nil || !back.Equal(at.Truncate(time.Second)) {
		t.Errorf("ParseTime(FormatTime) = %v, %v, want the same second", back, err)
	}
}

func TestIsReply(t *testing.T) {
	if (&fetcher.Tweet{}).IsReply() || !(&fetcher.Tweet{InReplyToStatusID: "1"}).IsReply() {
		t.Error("a reply is a post with in_reply_to_status_id")
	}
}
