// Package sqlstore has the roles of a store in SQL tables, written once for storage/sqlite and
// storage/postgres: what a call reads, what it decides, and what it writes. A backend runs the
// transactions: see Backend, Tx and Dialect.
//
// Both backends have the same tables, described in storage/sqlite's schema, and storage/postgres has
// some columns more. Queries are in the SQL that both understand. What differs is a word in braces
// that the backend replaces when it prepares a query:
//
//	{rows text,int}  a table with rows of these columns, from Tx.AskRows or Tx.ExecRows
//	{texts ?}        a table of the values of a Texts, in a column value
//	{ints ?}         the same for an Ints
//	{insert}         INSERT INTO, for rows that are not there
//	{update}         UPDATE
//	{join}           a join whose left side is read first
//	{max}            the greater of its arguments
//	{+}              keeps the following column from being looked up in an index
//
// Placeholders are ? or ?1 and so on, numbered as SQLite does.
package sqlstore
