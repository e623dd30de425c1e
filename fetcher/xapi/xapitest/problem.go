package xapitest

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Problem is an error in X's form (docs.x.com/x-api/fundamentals/response-codes-and-errors).
type Problem struct {
	// Kind is the last segment of the problem's type, such as "client-forbidden". If it
	// is "", the type is "about:blank".
	Kind   string
	Status int // HTTP status of the answer
	Title  string
	Detail string
	// Parameter and Values are set in an "invalid-request".
	Parameter string
	Values    []string
	// ResourceType, ResourceID and Value name the resource that the problem concerns.
	ResourceType, ResourceID, Value string
	// ConnectionIssue is set in a "streaming-connection".
	ConnectionIssue string
	// RetryAfter is sent as the header Retry-After, in whole seconds. If it is 0, there is no
	// header.
	RetryAfter time.Duration
}

const problemBase = "https://api.x.com/2/problems/"

// CreditsUsedUp returns X's problem for an app without credits.
func CreditsUsedUp() Problem {
	return Problem{Kind: "credits", Status: http.StatusPaymentRequired, Title: "CreditsDepleted",
		Detail: "Your enrolled account does not have any credits to fulfill this request."}
}

// TooManyConnections returns X's problem for a request that exceeds the allowed number of
// streams.
func TooManyConnections() Problem {
	return Problem{Kind: "streaming-connection", Status: http.StatusTooManyRequests, Title: "ConnectionException",
		Detail: "This stream is currently at the maximum allowed connection limit.", ConnectionIssue: "TooManyConnections"}
}

// ServeHTTP answers every request with the problem: see Server.Instead.
func (p Problem) ServeHTTP(w http.ResponseWriter, _ *http.Request) { p.Write(w) }

// Write writes the problem as an answer.
func (p Problem) Write(w http.ResponseWriter) {
	if p.RetryAfter > 0 {
		w.Header().Set("Retry-After", fmt.Sprint(int64(p.RetryAfter/time.Second)))
	}
	writeProblem(w, p.Status, p.members())
}

// members returns the members of the problem's JSON object.
func (p Problem) members() object {
	m := object{"title": p.Title, "detail": p.Detail, "type": "about:blank", "status": p.Status}
	if p.Kind != "" {
		m["type"] = problemBase + p.Kind
	}
	set := func(name, value string) {
		if value != "" {
			m[name] = value
		}
	}
	set("resource_type", p.ResourceType)
	set("resource_id", p.ResourceID)
	set("value", p.Value)
	set("connection_issue", p.ConnectionIssue)
	if p.Kind == "invalid-request" {
		m["errors"] = []any{object{"parameters": object{p.Parameter: p.Values},
			"message": fmt.Sprintf("The query parameter [%s] is not valid: %s", p.Parameter, strings.Join(p.Values, ","))}}
	} else {
		set("parameter", p.Parameter)
	}
	return m
}
