// Package xapi reads accounts and searches of X through its API, version 2.
//
//	x, err := xapi.New(xapi.Config{Token: token})
//	page, err := x.Timeline(ctx, fetcher.TimelineQuery{Username: "nasa"})
package xapi
