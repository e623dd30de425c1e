package deliver

import "strings"

// Via is the way in which a delivery is sent.
type Via string

// Ways of delivery.
const (
	ViaWebhook   Via = "webhook"   // to an endpoint that has a URL
	ViaHandler   Via = "handler"   // to a handler of the program
	ViaWebSocket Via = "websocket" // to the owner's WebSocket clients, see package wshub
)

// webSocketPrefix begins the endpoint id of an owner's WebSocket clients, which
// are one handler.
const webSocketPrefix = handlerPrefix + "websocket/"

// ViaOf returns the way in which deliveries to an endpoint are sent.
func ViaOf(endpointID string) Via {
	switch {
	case strings.HasPrefix(endpointID, webSocketPrefix):
		return ViaWebSocket
	case strings.HasPrefix(endpointID, handlerPrefix):
		return ViaHandler
	}
	return ViaWebhook
}

// Prefixes returns how stores select by v: its endpoint ids begin with the first
// prefix and, unless the second is "", not with the second.
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
