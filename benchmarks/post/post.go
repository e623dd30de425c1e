// Package post is the signed POST of a delivery as a program makes it that has
// net/http and nothing of ours but the signatures: what peers send with.
package post

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/webhook"
)

// Headers are those that our webhook client sends, signed now, as name and value.
func Headers(endpointID, deliveryID string, secret deliver.Secret, body []byte) [][2]string {
	now := time.Now()
	return [][2]string{
		{"Content-Type", "application/json"},
		{"User-Agent", webhook.DefaultUserAgent},
		{deliver.HeaderWebhookID, endpointID},
		{deliver.HeaderDeliveryID, deliveryID},
		{deliver.HeaderSignature, deliver.Sign(secret, body)},
		{deliver.HeaderStandardID, deliveryID},
		{deliver.HeaderStandardTimestamp, strconv.FormatInt(now.Unix(), 10)},
		{deliver.HeaderStandardSignature, deliver.SignStandard(secret, deliveryID, now, body)},
	}
}

// Tuned is a client that keeps idle connections for all of inFlight requests to a
// host, with 10 s for a request. Nil roots are the system's.
func Tuned(inFlight int, roots *x509.CertPool) *http.Client {
	return &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{
		MaxIdleConnsPerHost: inFlight, DisableCompression: true,
		TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
	}}
}

// Send makes the request, reads the answer to its end, and takes only 200 for a
// success.
func Send(ctx context.Context, c *http.Client, url string, headers [][2]string, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("post: %w", err)
	}
	for _, kv := range headers {
		req.Header.Set(kv[0], kv[1])
	}
	resp, err := c.Do(req)
	if err != nil {
		return fmt.Errorf("post: %w", err)
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != http.StatusOK {
		return errors.Join(err, fmt.Errorf("post: status %d", resp.StatusCode))
	}
	return nil
}
