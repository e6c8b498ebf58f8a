package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"

	"github.com/spf13/cobra"

	"ticketrail/receiver/sim"
)

// caFlag gives the flag one name in all commands that send.
func caFlag(c *cobra.Command, ca *string) {
	c.Flags().StringVar(ca, "ca", "", "a file with the certificate (PEM) of the authority that the webhook's is from")
}

// transportFor is [sim.Transport] for a webhook whose certificate a private authority may have
// issued.
func transportFor(concurrency int, ca string) (*http.Transport, error) {
	t := sim.Transport(concurrency)
	if ca == "" {
		return t, nil
	}

	pem, err := os.ReadFile(ca)
	if err != nil {
		return nil, fmt.Errorf("--ca: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, usageError{fmt.Errorf("--ca: %s has no certificate in PEM form", ca)}
	}
	t.TLSClientConfig = &tls.Config{RootCAs: roots}
	return t, nil
}
