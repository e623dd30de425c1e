// Package netguard keeps requests off addresses that are not public: webhooks, and
// web pages that customers name. CheckURL judges a URL when it is registered, and
// Guard each address at the moment of the connection.
package netguard
