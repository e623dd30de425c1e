package redisstore

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// scrubAsk is how often Scrub asks whether the server has written its files.
const scrubAsk = 100 * time.Millisecond

// Scrub implements storage.Eraser: it has the server rewrite its append-only file
// (BGREWRITEAOF) and its snapshot (BGSAVE), whichever it keeps, and returns when they are
// written, some seconds for each GB. Other calls go on; the server needs the memory that
// such a rewrite takes. What the server refuses, as managed ones do, is left for the
// operator, and so are the files of replicas.
func (s *Store) Scrub(ctx context.Context) (left []string, err error) {
	if err := s.calling.enter(); err != nil {
		return nil, err
	}
	defer s.calling.leave()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.cut, cancel)()
	left, err = scrub(inner, s)
	switch {
	case err == nil:
		return left, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case s.cut.Err() != nil:
		return nil, ErrClosed
	}
	return nil, fmt.Errorf("redisstore: scrub: %w", err)
}

func scrub(ctx context.Context, s *Store) (left []string, err error) {
	var node redis.UniversalClient = s.redis
	if c, ok := s.redis.(*redis.ClusterClient); ok {
		if node, err = c.MasterForKey(ctx, s.prefix); err != nil {
			return nil, err
		}
	}
	info := func(ctx context.Context) (map[string]string, error) { return infoOf(ctx, node) }
	state, err := info(ctx)
	if refused(err) {
		return []string{"the server refuses INFO: have its append-only file and its snapshots written anew"}, nil
	}
	if err != nil {
		return nil, err
	}
	if state["aof_enabled"] == "1" {
		err := rewrite(ctx, info, node.BgRewriteAOF, rewriting{running: "aof_rewrite_in_progress", scheduled: "aof_rewrite_scheduled", status: "aof_last_bgrewrite_status"})
		if refused(err) {
			left = append(left, "the server refuses BGREWRITEAOF: its append-only file keeps what it had until it is rewritten")
		} else if err != nil {
			return nil, err
		}
	}
	config, err := node.ConfigGet(ctx, "save").Result()
	switch {
	case refused(err) || err == nil && config["save"] == "":
		left = append(left, "a snapshot of the server that was made by hand, or by a managed service, keeps what it had")
	case err != nil:
		return nil, err
	default:
		save := func(ctx context.Context) *redis.StatusCmd {
			cmd := redis.NewStatusCmd(ctx, "bgsave", "schedule")
			_ = node.Process(ctx, cmd)
			return cmd
		}
		err := rewrite(ctx, info, save, rewriting{running: "rdb_bgsave_in_progress", status: "rdb_last_bgsave_status", moves: []string{"rdb_saves", "rdb_last_save_time"}})
		if refused(err) {
			left = append(left, "the server refuses BGSAVE: its snapshot keeps what it had until the next one")
		} else if err != nil {
			return nil, err
		}
	}
	if n, _ := strconv.Atoi(state["connected_slaves"]); n > 0 {
		left = append(left, fmt.Sprintf("the files of %d replicas keep what they had until each has rewritten them: BGREWRITEAOF and BGSAVE there", n))
	}
	return append(left, "backups of the server, and its SLOWLOG, keep what they had"), nil
}

// rewriting has the names of the fields of INFO that tell of a rewrite of files.
type rewriting struct {
	running   string   // 1 while a rewrite runs
	scheduled string   // 1 while one is scheduled; "" if no field tells that
	status    string   // how the last one ended
	moves     []string // change with each rewrite; a server may lack some
}

// rewrite waits for the end of a rewrite that is under way, which may have begun before what
// Scrub is called for, begins another one, and waits for its end. It returns an error if that
// one fails.
func rewrite(ctx context.Context, info func(context.Context) (map[string]string, error), begin func(context.Context) *redis.StatusCmd, r rewriting) error {
	later := false // the rewrite is scheduled, and nothing has shown yet that it began
	var before map[string]string
	idle := func() (map[string]string, error) { // waits until no rewrite runs or is to run
		for {
			state, err := info(ctx)
			if err != nil {
				return nil, err
			}
			later = later && state[r.running] != "1" && state[r.status] == before[r.status]
			for _, field := range r.moves {
				later = later && state[field] == before[field]
			}
			if !later && state[r.running] != "1" && state[r.scheduled] != "1" {
				return state, nil
			}
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-time.After(scrubAsk):
			}
		}
	}
	before, err := idle()
	if err != nil {
		return err
	}
	told, err := begin(ctx).Result()
	if err != nil {
		return err
	}
	later = r.scheduled == "" && strings.Contains(told, "scheduled")
	state, err := idle()
	if err == nil && state[r.status] != "ok" {
		err = fmt.Errorf("the server could not write its files: %s is %q", r.status, state[r.status])
	}
	return err
}

// infoOf has the fields of INFO that Scrub asks for.
func infoOf(ctx context.Context, node redis.UniversalClient) (map[string]string, error) {
	fields := map[string]string{}
	for _, section := range []string{"persistence", "replication"} {
		info, err := node.Info(ctx, section).Result()
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(info) {
			if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
				fields[name] = value
			}
		}
	}
	return fields, nil
}

// refused reports whether the server does not let the user run the command, or lacks it.
func refused(err error) bool {
	return redis.HasErrorPrefix(err, "NOPERM") || err != nil && (strings.Contains(err.Error(), "unknown command") || strings.Contains(err.Error(), "not supported"))
}
