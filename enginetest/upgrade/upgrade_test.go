package upgrade_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/enginetest/upgrade"
	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/memory"
	"github.com/streamwatch/streamwatch/storage/redisstore"
	"github.com/streamwatch/streamwatch/storage/sqlite"
)

var update = flag.String("update", "", "write the test data of a release, such as v0.1.0")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// within bounds a test that waits for deliveries.
func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func at() time.Time { return upgrade.At }

func TestUpdate(t *testing.T) {
	if *update == "" {
		t.Skip("writes test data with -update")
	}
	dir := filepath.Join("testdata", *update)
	must(t, os.MkdirAll(dir, 0o755))

	path := filepath.Join(t.TempDir(), "streams.db")
	file, err := sqlite.Open(t.Context(), path, sqlite.Options{Now: at})
	must(t, err)
	must(t, upgrade.Fill(t.Context(), file))
	must(t, file.Close(t.Context()))
	b, err := os.ReadFile(path)
	must(t, err)
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err = w.Write(b)
	must(t, errors.Join(err, w.Close(), os.WriteFile(filepath.Join(dir, "sqlite.db.gz"), packed.Bytes(), 0o644)))

	server := miniredis.RunT(t)
	server.SetTime(upgrade.At)
	store := openRedis(t, server, at)
	must(t, upgrade.Fill(t.Context(), store))
	must(t, store.Close(t.Context()))
	b, err = json.MarshalIndent(dump(t, server), "", "\t")
	must(t, errors.Join(err, os.WriteFile(filepath.Join(dir, "redis.json"), append(b, '\n'), 0o644)))

	b, err = json.MarshalIndent(signed(), "", "\t")
	must(t, errors.Join(err, os.WriteFile(filepath.Join(dir, "webhook.json"), append(b, '\n'), 0o644)))
}

// releases are the folders of the test data.
func releases(t *testing.T) (dirs []string) {
	dirs, err := filepath.Glob(filepath.Join("testdata", "v*"))
	must(t, err)
	if len(dirs) == 0 {
		t.Fatal("there are no test data: see CONTRIBUTING.md")
	}
	return dirs
}

// Fill and Check fit: what is read back is what was written.
func TestCheckOfTheSameVersion(t *testing.T) {
	t.Parallel()
	store := memory.New(memory.Options{Now: upgrade.Clock})
	must(t, upgrade.Fill(t.Context(), store))
	must(t, upgrade.Check(within(t), store))
}

// Check notices what an upgrade may lose.
func TestCheckNotices(t *testing.T) {
	for name, lose := range map[string]func(context.Context, storage.Store) error{
		"a monitor": func(ctx context.Context, s storage.Store) error { return s.Monitors().Delete(ctx, "acme", "mon_1") },
		"a webhook": func(ctx context.Context, s storage.Store) error { return s.Endpoints().Delete(ctx, "acme", "whk_1") },
		"a cursor": func(ctx context.Context, s storage.Store) error {
			_, err := s.(*memory.Store).Erase(ctx, "nobody", "account:nasa")
			return err
		},
		"credits": func(ctx context.Context, s storage.Store) error { return s.Ledger().Release(ctx, "hold 1") },
	} {
		t.Run(name, func(t *testing.T) {
			store := memory.New(memory.Options{Now: upgrade.Clock})
			must(t, upgrade.Fill(t.Context(), store))
			must(t, lose(t.Context(), store))
			if err := upgrade.Check(within(t), store); err == nil {
				t.Errorf("Check says nothing of a store that has lost %s", name)
			}
		})
	}
}

func TestSQLite(t *testing.T) {
	t.Parallel()
	for _, dir := range releases(t) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			path := unpack(t, dir)
			store, err := sqlite.Open(t.Context(), path, sqlite.Options{Now: upgrade.Clock})
			must(t, err)
			defer store.Close(context.Background())
			must(t, upgrade.Check(within(t), store))
			_, err = store.Scrub(t.Context())
			must(t, err)
		})
	}
}

// unpack copies the file of a release.
func unpack(t *testing.T, dir string) (path string) {
	f, err := os.Open(filepath.Join(dir, "sqlite.db.gz"))
	must(t, err)
	defer f.Close()
	r, err := gzip.NewReader(f)
	must(t, err)
	b, err := io.ReadAll(r)
	must(t, err)
	path = filepath.Join(t.TempDir(), "streams.db")
	must(t, os.WriteFile(path, b, 0o600))
	return path
}

// A file of a later version is refused, and stays as it is.
func TestSQLiteRefusesALaterVersion(t *testing.T) {
	path := unpack(t, releases(t)[0])
	b, err := os.ReadFile(path)
	must(t, err)
	binary.BigEndian.PutUint32(b[60:], 1000) // PRAGMA user_version, https://sqlite.org/fileformat.html
	must(t, os.WriteFile(path, b, 0o600))
	if _, err := sqlite.Open(t.Context(), path, sqlite.Options{}); !errors.Is(err, sqlite.ErrNewer) {
		t.Errorf("Open gives %v, want ErrNewer", err)
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, b) {
		t.Errorf("the file was changed (%v)", err)
	}
}

func openRedis(t *testing.T, server *miniredis.Miniredis, now func() time.Time) *redisstore.Store {
	t.Helper()
	store, err := redisstore.Open(t.Context(), &redis.UniversalOptions{Addrs: []string{server.Addr()}}, redisstore.Options{Name: "upgrade", Now: now, AllowEviction: true})
	must(t, err)
	return store
}

func TestRedis(t *testing.T) {
	t.Parallel()
	for _, dir := range releases(t) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			server := restored(t, dir)
			store := openRedis(t, server, upgrade.Clock)
			defer store.Close(context.Background())
			must(t, upgrade.Check(within(t), store))
		})
	}
}

// Data of a later version are refused, and stay as they are.
func TestRedisRefusesALaterVersion(t *testing.T) {
	server := restored(t, releases(t)[0])
	must(t, server.Set("{upgrade}:version", "streamwatch 1000"))
	before := server.Dump()
	_, err := redisstore.Open(t.Context(), &redis.UniversalOptions{Addrs: []string{server.Addr()}}, redisstore.Options{Name: "upgrade", AllowEviction: true})
	if !errors.Is(err, redisstore.ErrNewer) {
		t.Errorf("Open gives %v, want ErrNewer", err)
	}
	if server.Dump() != before {
		t.Error("the data were changed")
	}
}

// redisKey is a key with its value, whose texts are any bytes.
type redisKey struct {
	Key  string   `json:"key"`
	Type string   `json:"type"`
	Args [][]byte `json:"args"` // of SET, HSET, RPUSH or ZADD
}

// dump gives all keys in their order.
func dump(t *testing.T, server *miniredis.Miniredis) (all []redisKey) {
	c := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer c.Close()
	for _, key := range server.Keys() {
		k := redisKey{Key: key, Type: server.Type(key)}
		switch k.Type {
		case "string":
			v, err := server.Get(key)
			must(t, err)
			k.Args = [][]byte{[]byte(v)}
		case "hash":
			fields, err := server.HKeys(key)
			must(t, err)
			for _, f := range fields {
				k.Args = append(k.Args, []byte(f), []byte(server.HGet(key, f)))
			}
		case "list":
			items, err := server.List(key)
			must(t, err)
			for _, item := range items {
				k.Args = append(k.Args, []byte(item))
			}
		case "zset":
			members, err := c.ZRangeWithScores(t.Context(), key, 0, -1).Result()
			must(t, err)
			for _, m := range members {
				k.Args = append(k.Args, fmt.Append(nil, m.Score), []byte(m.Member.(string)))
			}
		default:
			t.Fatalf("key %q is a %s", key, k.Type)
		}
		all = append(all, k)
	}
	return all
}

// restored is a server with the data of a release.
func restored(t *testing.T, dir string) *miniredis.Miniredis {
	b, err := os.ReadFile(filepath.Join(dir, "redis.json"))
	must(t, err)
	var all []redisKey
	must(t, json.Unmarshal(b, &all))
	server := miniredis.RunT(t)
	c := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer c.Close()
	command := map[string]string{"string": "SET", "hash": "HSET", "list": "RPUSH", "zset": "ZADD"}
	for _, k := range all {
		args := []any{command[k.Type], k.Key}
		for _, a := range k.Args {
			args = append(args, a)
		}
		must(t, c.Do(t.Context(), args...).Err())
	}
	return server
}

// vector is a webhook as receivers check it.
type vector struct {
	Secret    string `json:"secret"`
	ID        string `json:"id"`
	Unix      int64  `json:"unix"`
	Body      string `json:"body"`
	Signature string `json:"x_signature_256"`
	Standard  string `json:"webhook_signature"`
}

func signed() []vector {
	var all []vector
	for _, secret := range []string{"whsec_c3RyZWFtd2F0Y2ggdGVzdA==", "a raw secret"} {
		v := vector{Secret: secret, ID: deliver.DeliveryID(deliver.EventID("mon_1", "104"), "whk_1"), Unix: upgrade.At.Unix(), Body: `{"event":"tweet.detected","tweet_id":"104"}`}
		v.Signature = deliver.Sign(deliver.Secret(secret), []byte(v.Body))
		v.Standard = deliver.SignStandard(deliver.Secret(secret), v.ID, upgrade.At, []byte(v.Body))
		all = append(all, v)
	}
	return all
}

// A webhook of the same delivery has the same id and signatures as it had.
func TestWebhooks(t *testing.T) {
	for _, dir := range releases(t) {
		b, err := os.ReadFile(filepath.Join(dir, "webhook.json"))
		must(t, err)
		var want []vector
		must(t, json.Unmarshal(b, &want))
		if got := signed(); !slices.Equal(got, want) {
			t.Errorf("%s: got %+v, want %+v", dir, got, want)
		}
	}
}
