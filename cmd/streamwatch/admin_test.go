package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/streamwatch/streamwatch/apikey"
	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// Keys and credits are issued beside a server, on its store.
func TestAdmin(t *testing.T) {
	db := filepath.Join(t.TempDir(), "a.db")
	do := func(args string) (string, error) {
		var out bytes.Buffer
		err := run(t.Context(), process{Env: noEnv, Out: &out, Logs: io.Discard}, append(strings.Fields(args), "-db", db))
		return out.String(), err
	}
	out, err := do("key -owner acme -name production -credits 20")
	m := regexp.MustCompile(`(?m)^id +(\S+)\nkey +(sw_live_\w+)$`).FindStringSubmatch(out)
	if err != nil || m == nil {
		t.Fatalf("%q, %v", out, err)
	}
	if !strings.Contains(out, "\nin   "+db+"\n") {
		t.Errorf("%q: want the store in which the key is", out)
	}
	if out, err = do("key -owner acme -name operations -scope admin"); err != nil {
		t.Fatalf("%q, %v", out, err)
	}
	if out, err = do("keys -owner acme"); err != nil || !regexp.MustCompile(`production +sw_live_\S+ +write .*\n.*operations +sw_live_\S+ +admin `).MatchString(out) {
		t.Errorf("%q, %v: want the scopes", out, err)
	}
	if _, err = do("key -owner acme -scope root"); err == nil || !strings.Contains(err.Error(), "want read, write or admin") {
		t.Errorf("-scope root: %v", err)
	}
	for range 2 {
		if out, err = do("credits -owner acme -credits 5 -id invoice-1"); err != nil || out != "id   invoice-1\nacme has 25 credits\n" {
			t.Errorf("%q, %v: want the id and 25 credits, also the second time", out, err)
		}
	}
	if out, err = do("credits -owner acme -credits -10 -id mistake"); err != nil || out != "id   mistake\nacme has 15 credits\n" {
		t.Errorf("%q, %v: want 15 credits", out, err)
	}
	if _, err = do("credits -owner acme -credits -16"); status(err) != 1 || !strings.Contains(err.Error(), `-credits -16 is not allowed: want at most the credits that -owner "acme" has`) {
		t.Errorf("more than there is: %v", err)
	}
	if _, err = do("credits -owner acme -credits -15"); err != nil {
		t.Errorf("all there is: %v", err)
	}
	if out, err = do("keys -owner acme"); err != nil || !strings.Contains(out, " never ") || !strings.Contains(out, m[1]) || !strings.Contains(out, "true") || strings.Contains(out, m[2]) {
		t.Errorf("%q, %v", out, err)
	}
	if _, err = do("revoke -owner other -id " + m[1]); err == nil || !strings.Contains(err.Error(), `-owner "other" has no key`) {
		t.Errorf("another owner's key: %v", err)
	}
	if _, err = do("revoke -owner acme -id " + m[1]); err != nil {
		t.Error(err)
	}
	if out, _ = do("keys -owner acme"); !strings.Contains(out, "false") {
		t.Errorf("%q: want a key that is not valid", out)
	}
}

// Who issues a key without credits is told that requests with it will be refused.
func TestKeyWithoutCredits(t *testing.T) {
	db := filepath.Join(t.TempDir(), "a.db")
	for _, row := range []struct {
		args string
		told bool
	}{{"key -owner acme", true}, {"key -owner acme -credits 1", false}, {"key -owner acme", false}, {"key -owner other", true}} {
		var out bytes.Buffer
		if err := run(t.Context(), process{Env: noEnv, Out: &out, Logs: io.Discard}, append(strings.Fields(row.args), "-db", db)); err != nil {
			t.Fatal(err)
		}
		if told := strings.Contains(out.String(), "has no credits"); told != row.told {
			t.Errorf("%s: it says %q", row.args, &out)
		}
	}
}

// unsure is a ledger that gives credits and does not say so, and whose balances cannot be
// read.
type unsure struct {
	billing.Ledger
	answers bool // it says that credits are given
}

func (u unsure) Append(ctx context.Context, entries ...billing.Entry) error {
	if err := u.Ledger.Append(ctx, entries...); err != nil || u.answers {
		return err
	}
	return errors.New("the server did not answer")
}

func (unsure) Balance(context.Context, string) (billing.Balance, error) {
	return billing.Balance{}, errors.New("the server is gone")
}

// A top-up whose outcome is not known can be made again, and credits are given once.
func TestCreditsAreGivenOnce(t *testing.T) {
	store := memory.New(memory.Options{})
	keys, err := apikey.NewManager(apikey.Config{Records: store.Ports().Records})
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"credits", "key"} {
		t.Run(command, func(t *testing.T) {
			var out bytes.Buffer
			a := admin{keys: keys, ledger: unsure{store.Ports().Ledger, false}, out: &out}
			if command == "key" {
				err = a.issue(t.Context(), apikey.IssueRequest{Owner: command, Name: "laptop"}, 5)
			} else {
				err = a.give(t.Context(), command, "", 5, false)
			}
			if err == nil {
				t.Fatal("no error, and the ledger did not answer")
			}
			if secret := strings.Contains(out.String(), "sw_live_"); secret != (command == "key") {
				t.Errorf("it says %q: a key is issued by the command key", &out)
			}
			again := regexp.MustCompile(`credits -owner "(\S+)" -credits 5 -id "(topup_\S+)"`).FindStringSubmatch(err.Error())
			if again == nil || again[1] != command {
				t.Fatalf("error %q: want the command that makes it again", err)
			}
			a.ledger = unsure{store.Ports().Ledger, true}
			err = a.give(t.Context(), again[1], again[2], 5, false)
			if want := "the credits are given with -id \"" + again[2] + "\", but how many there are cannot be shown: the server is gone"; err == nil || err.Error() != want {
				t.Errorf("again: %v, want %q", err, want)
			}
			if b, err := store.Ports().Ledger.Balance(t.Context(), command); err != nil || b.Available != 5*billing.Credit {
				t.Errorf("balance %+v, %v; want 5 credits", b, err)
			}
		})
	}
}

func TestAdminRefuses(t *testing.T) {
	for args, want := range map[string]string{
		"key":              "-owner is missing",
		"credits -owner a": "-credits 0 is not allowed: want 1 to 1000000000000000, or below 0 to take as many",
		"credits -owner a -credits -1000000000000001": "-credits -1000000000000001 is not allowed",
		"key -owner a -credits -5":                    "-credits -5 is not allowed: want 1 to 1000000000000000",
		"revoke -owner a":                             "-id is missing",
		"key -owner a -rate many":                     `-rate "many" is not allowed: want a whole number`,
		"key -owner a -scope root":                    `-scope "root" is not allowed: want read, write or admin`,
		"keys -owner a":                               "want a database that is there",
	} {
		err := run(t.Context(), process{Env: noEnv, Out: io.Discard, Logs: io.Discard}, append(strings.Fields(args), "-db", filepath.Join(t.TempDir(), "none.db")))
		if status(err) != 78 || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", args, err, want)
		}
	}
}
