// Package postgres implements storage.Store on PostgreSQL.
package postgres
