package secret_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/streamwatch/streamwatch/secret"
)

func TestValueNeverPrints(t *testing.T) {
	const canary = "canary-4711"
	type config struct {
		Name  string
		Token secret.Value
	}
	c := config{"x", canary}
	var prints []string
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%t", "%10s", "%-20v"} {
		prints = append(prints, fmt.Sprintf(verb, c.Token), fmt.Sprintf(verb, c), fmt.Sprintf(verb, &c), fmt.Sprintf(verb, []any{c.Token}))
	}
	prints = append(prints, c.Token.String(), errors.New(fmt.Sprint(c.Token)).Error())
	j, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	x, err := xml.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	var text, structured bytes.Buffer
	slog.New(slog.NewTextHandler(&text, nil)).Info("m", "token", c.Token, "config", c)
	slog.New(slog.NewJSONHandler(&structured, nil)).Info("m", "token", c.Token, "config", c)
	prints = append(prints, string(j), string(x), text.String(), structured.String())
	for _, p := range prints {
		if strings.Contains(p, canary) || strings.Contains(p, fmt.Sprintf("%x", canary)) {
			t.Errorf("the secret shows in %q", p)
		}
		if !strings.Contains(p, secret.Redacted) {
			t.Errorf("%q lacks ***", p)
		}
	}
	if string(c.Token) != canary {
		t.Errorf("string(v) = %q, want the value itself", string(c.Token))
	}
}
