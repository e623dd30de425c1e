package deliver

import "strings"

// Via says by what way a delivery goes to its endpoint.
type Via string

// Ways of delivery.
const (
	ViaWebhook   Via = "webhook"   // to an endpoint that has a URL
	ViaHandler   Via = "handler"   // to a handler of the program
	ViaWebSocket Via = "websocket" // to the owner's WebSocket clients, see package wshub
)

// webSocketPrefix begins the endpoint id of an owner's WebSocket clients, which
// are a handler of their own.
const webSocketPrefix = handlerPrefix + "websocket/"

// ViaOf is the way of deliveries to an endpoint.
func ViaOf(endpointID string) Via {
	switch {
	case strings.HasPrefix(endpointID, webSocketPrefix):
		return ViaWebSocket
	case strings.HasPrefix(endpointID, handlerPrefix):
		return ViaHandler
	}
	return ViaWebhook
}

// Prefixes is what stores select by: the endpoint ids of a way are those that
// begin with one text and not with the other, where that is not "".
func (v Via) Prefixes() (with, without string) {
	switch v {
	case ViaWebhook:
		return "", handlerPrefix
	case ViaHandler:
		return handlerPrefix, webSocketPrefix
	case ViaWebSocket:
		return webSocketPrefix, ""
	}
	return "", ""
}
