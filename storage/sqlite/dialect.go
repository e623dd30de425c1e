package sqlite

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	result "modernc.org/sqlite/lib"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/storage/internal/sqlstore"
)

// words replaces the words in braces of package sqlstore. Statements that add or change rows use OR
// FAIL: SQLite then keeps no journal for undoing half of a statement, which would take an eighth of
// the writer's time. Instead the job's savepoint, or the transaction, undoes a failed statement.
var words = strings.NewReplacer("{insert}", "INSERT OR FAIL INTO", "{update}", "UPDATE OR FAIL", "{join}", "CROSS JOIN", "{max}", "max", "{+}", "+",
	"{texts ", "(SELECT value FROM json_each(", "{ints ", "(SELECT value FROM json_each(", "}", "))")

// replaced has the SQL of queries of package sqlstore, without rows.
var replaced sync.Map

// plain returns the SQL of a query of package sqlstore.
func plain(query string) string {
	if done, ok := replaced.Load(query); ok {
		return done.(string)
	}
	done := text(query, 0, 0)
	replaced.Store(query, done)
	return done
}

// widthOf returns the number of columns in the rows of a query.
func widthOf(query string) int {
	_, types, _ := strings.Cut(query, "{rows ")
	types, _, _ = strings.Cut(types, "}")
	return 1 + strings.Count(types, ",")
}

// text returns the SQL of a query of package sqlstore, with the placeholders of rows times width
// values.
func text(query string, rows, width int) string {
	if i := strings.Index(query, "{rows "); i >= 0 {
		row := "(" + strings.Repeat("?, ", width-1) + "?)"
		end := i + strings.IndexByte(query[i:], '}')
		query = query[:i] + "VALUES " + strings.Repeat(row+", ", rows-1) + row + query[end+1:]
	}
	return words.Replace(query)
}

// dialect is SQLite's. It has one writer, which needs no locks.
var dialect = sqlstore.Dialect{
	Settling: `SELECT * FROM deliveries WHERE id IN ({rows text})`,
	FirstDue: `SELECT d.n FROM (SELECT n, due_at, endpoint_id FROM deliveries WHERE due_at <= ?1 ORDER BY due_at, n LIMIT %d) AS d WHERE `,
	Feed:     `SELECT coalesce(max(n), 0) + ? FROM feed`,
	Epoch:    `(SELECT epoch FROM totals)`,
	Dropping: `UPDATE totals SET newest = ` + newestEvent + `, removed = removed + ?`,
	// Of the first ?1 settled events, those past their retention come first, and those too many.
	Removable: `SELECT event FROM settled ORDER BY settled_at, event LIMIT min(?1, max(
		(SELECT ` + newestEvent + ` - removed FROM totals) - ?2, (SELECT count(*) FROM (SELECT 1 FROM settled WHERE settled_at <= ?3 LIMIT ?1))))`,
	Totals: totals,
	RetainedOfAll: func(event, expired string) string { // reads the list of events past their retention once
		return event + ` NOT IN (SELECT event FROM settled WHERE settled_at <= ` + expired + `)`
	},
}

// totals returns one query for the totals of all sources. Its argument is a JSON array of their
// keys, in hexadecimal, because JSON cannot have text that is not UTF-8.
func totals(sources []billing.Source) (query string, args []any) {
	asked := make([][3]string, len(sources))
	for i, src := range sources {
		asked[i] = [3]string{hex.EncodeToString([]byte(src.Owner)), hex.EncodeToString([]byte(src.Kind)), hex.EncodeToString([]byte(src.ID))}
	}
	doc, err := json.Marshal(asked)
	if err != nil {
		panic(err) // texts can be encoded
	}
	return `SELECT s.key, t.total FROM json_each(?) s CROSS JOIN source_totals t
		ON t.owner = CAST(unhex(s.value ->> 0) AS TEXT) AND t.kind = CAST(unhex(s.value ->> 1) AS TEXT)
		AND t.source_id = CAST(unhex(s.value ->> 2) AS TEXT)`, []any{string(doc)}
}

// Duplicate implements sqlstore.Backend.
func (b backend) Duplicate(err error) bool { return hasCode(err, result.SQLITE_CONSTRAINT) }

// Fence implements sqlstore.Backend. A file has only one engine.
func (b backend) Fence(sqlstore.Tx, []*detect.Batch) error { return nil }

// LockOwners implements sqlstore.Backend. There is one writer.
func (b backend) LockOwners(sqlstore.Tx, ...string) error { return nil }

// NumberEvents implements sqlstore.Backend.
func (b backend) NumberEvents(t sqlstore.Tx, count int, to *[]int64) error {
	return t.Ask(`SELECT `+newestEvent, nil, func(rows sqlstore.Rows) error {
		var newest int64
		err := rows.Scan(&newest)
		for range count {
			newest++
			*to = append(*to, newest)
		}
		return err
	})
}

// readable returns SQL that formats a stored time as RFC 3339 in UTC with milliseconds. The SQL
// gives NULL for NULL and for times before 1970.
func readable(column string) string {
	return fmt.Sprintf("CASE WHEN %[1]s >= 0 THEN strftime('%%Y-%%m-%%dT%%H:%%M:%%S', %[1]s / 1000000000, 'unixepoch') || "+
		"printf('.%%03dZ', %[1]s / 1000000 %% 1000) END", column)
}
