package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"ticketrail/receiver/contract"
)

const (
	venueID = "6f1c8f5e-52ad-4a0b-9e9b-2f7b7b7f3a11"
	path    = contract.PathWebhook
)

// A sender posts as the service does: two headers, JSON, five seconds to answer.
type sender struct {
	url string
	say func(format string, args ...any)
}

func (s *sender) send(ctx context.Context, body map[string]any) error {
	b, err := json.Marshal(body)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, bytes.NewReader(b))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set(contract.HeaderVenue, venueID)
	req.Header.Set(contract.HeaderDevice, "BW-E-Tablet-01")
	began := time.Now()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, 4096))
	if err != nil {
		return err
	}
	s.say("   POST %d bytes → %d in %.1f ms  %s", len(b), resp.StatusCode,
		float64(time.Since(began).Microseconds())/1000, strings.TrimSpace(string(answer)))
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("post order: answered %s", resp.Status)
	}
	return nil
}
