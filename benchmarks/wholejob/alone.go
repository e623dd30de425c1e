package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"time"
)

// startAlone makes the requests of the polls and drops the answers: one client, and a
// goroutine for each request that may be under way.
func startAlone(o contestantOrder) (stop func() error, err error) {
	ctx, cancel := context.WithCancel(context.Background())
	next := make(chan int)
	var all sync.WaitGroup
	all.Go(func() {
		defer close(next)
		every := o.Interval / time.Duration(o.Accounts)
		begun := time.Now()
		for n := 0; ctx.Err() == nil; n++ {
			if wait := time.Until(begun.Add(time.Duration(n) * every)); wait > 0 {
				time.Sleep(wait)
			}
			next <- n % o.Accounts
		}
	})
	for range inFlight {
		all.Go(func() {
			for i := range next {
				if err := ask(ctx, statusesURL(o, i)); err != nil && ctx.Err() == nil {
					fmt.Fprintln(os.Stderr, "wholejob: request alone:", err)
					os.Exit(1) // only answered requests count
				}
			}
		})
	}
	return func() error {
		cancel()
		all.Wait()
		return nil
	}, nil
}

func statusesURL(o contestantOrder, account int) string {
	return fmt.Sprintf("%s/api/v1/accounts/%s/statuses?limit=%d", o.URL, accountID(account), pagePosts)
}

func ask(ctx context.Context, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("answer %s", resp.Status)
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}
