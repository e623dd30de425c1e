// Package top keeps the first few of many in an order, without sorting them all.
package top
