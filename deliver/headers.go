package deliver

import (
	"fmt"
	"slices"
	"strings"

	"github.com/streamwatch/streamwatch/internal/invalid"
	"github.com/streamwatch/streamwatch/secret"
)

// Limits of an endpoint's own headers: their number, and the lengths of names and values in
// bytes.
const (
	maxHeaders     = 20
	maxHeaderName  = 128
	maxHeaderValue = 2048
)

// reservedHeaders are names that an endpoint cannot set. reservedPrefixes are prefixes of such
// names. They include the headers of every request, of connections and proxies (RFC 9110, 7.6), of
// browsers, and of cloud metadata services. They also include idempotency keys: with a fixed key a
// receiver would take all deliveries for the same one, and net/http might send a POST twice.
var (
	reservedHeaders = []string{
		"accept-encoding", "alt-svc", "connection", "cookie", "date", "expect", "forwarded", "host", "http2-settings",
		"idempotency-key", "keep-alive", "max-forwards", "metadata", "metadata-flavor", "origin", "referer", "te", "trailer", "transfer-encoding",
		"upgrade", "user-agent", "via", "x-delivery-id", "x-http-method-override", "x-idempotency-key", "x-real-ip", "x-signature-256", "x-webhook-id",
	}
	reservedPrefixes = []string{
		"access-control-", "content-", "proxy-", "sec-", "webhook-", "x-aliyun-", "x-amz-", "x-amzn-", "x-aws-", "x-azure-",
		"x-forwarded-", "x-goog-", "x-google-", "x-ms-",
	}
)

// CheckHeaders returns a *FieldError if there are more than 20 headers or for the first header that
// is not allowed. The error has the header's name but not its value.
func CheckHeaders(hs []Header) error {
	if len(hs) > maxHeaders {
		return invalid.Field("deliver", "headers", fmt.Sprint(len(hs)), fmt.Sprintf("at most %d", maxHeaders))
	}
	seen := make(map[string]bool, len(hs))
	for _, h := range hs {
		if err := CheckHeader(h); err != nil {
			return err
		}
		key := headerKey(h.Name)
		if seen[key] {
			return invalid.Field("deliver", "headers", h.Name, "each name once, whatever its case")
		}
		seen[key] = true
	}
	return nil
}

// CheckHeader returns a *FieldError if a header is not allowed: see CheckHeaders.
func CheckHeader(h Header) error {
	shown := invalid.Cut(strings.ToValidUTF8(h.Name, "\ufffd"), maxHeaderName)
	if h.Name == "" || len(h.Name) > maxHeaderName || strings.ContainsFunc(h.Name, func(r rune) bool { return !tokenRune(r) }) {
		return invalid.Field("deliver", "headers", shown, fmt.Sprintf("a name of 1 to %d letters, digits and !#$%%&'*+-.^_`|~", maxHeaderName))
	}
	key := headerKey(h.Name)
	if slices.Contains(reservedHeaders, key) || slices.ContainsFunc(reservedPrefixes, func(p string) bool { return strings.HasPrefix(key, p) }) {
		return invalid.Field("deliver", "headers", shown, "a name that is not reserved")
	}
	v := string(h.Value)
	ok := !sealed(h.Value) && v != "" && len(v) <= maxHeaderValue && v == strings.Trim(v, " \t")
	for i := range len(v) {
		ok = ok && (v[i] >= ' ' && v[i] <= '~' || v[i] == '\t')
	}
	if !ok {
		return invalid.Field("deliver", "headers", shown+": "+secret.Redacted,
			fmt.Sprintf("a value of 1 to %d printable ASCII characters without white space at its ends, not beginning with \"sealed:\"", maxHeaderValue))

	}
	return nil
}

// headerKey returns a name in the form for comparisons. Many servers treat _ and - alike, so
// X_Signature_256 counts as X-Signature-256.
func headerKey(name string) string { return strings.ReplaceAll(strings.ToLower(name), "_", "-") }

// tokenRune reports whether a name may contain r: tchar of RFC 9110, 5.6.2.
func tokenRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("!#$%&'*+-.^_`|~", r)
}
