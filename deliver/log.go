package deliver

import "strings"

// Via says how a delivery is sent.
type Via string

// Ways of delivery.
const (
	ViaWebhook   Via = "webhook"   // to an endpoint that has a URL
	ViaHandler   Via = "handler"   // to a handler of the program
	ViaWebSocket Via = "websocket" // to the owner's WebSocket clients, see package wshub
)

// webSocketPrefix is the prefix of the endpoint id for an owner's WebSocket clients. All clients
// of an owner are one handler.
const webSocketPrefix = handlerPrefix + "websocket/"

// ViaOf returns how deliveries to an endpoint are sent.
func ViaOf(endpointID string) Via {
	switch {
	case strings.HasPrefix(endpointID, webSocketPrefix):
		return ViaWebSocket
	case strings.HasPrefix(endpointID, handlerPrefix):
		return ViaHandler
	}
	return ViaWebhook
}

// Prefixes returns prefixes of endpoint ids, with which stores select the deliveries sent by v.
// They are those whose endpoint id begins with with but, unless without is "", not with without.
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
