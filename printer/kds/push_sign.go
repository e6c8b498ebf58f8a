package kds

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Headers of Standard Webhooks 1.0 (standardwebhooks.com), by which the other side can tell that
// a ticket comes from here and is not an old one played again.
const (
	headerID        = "webhook-id"
	headerTimestamp = "webhook-timestamp" // seconds since 1970
	headerSignature = "webhook-signature" // "v1," and base64 of an HMAC-SHA256; several with spaces between
)

const secretPrefix = "whsec_"

// A signer signs with one secret or, while they are being changed, with several.
type signer struct {
	keys [][]byte
	text []string // as written, so that it can be kept out of messages
}

// readSecrets reads a secret file: a secret a line, whsec_ and base64 of at least 16 bytes. No
// error holds any of it.
func readSecrets(file string) (signer, error) {
	var s signer
	for i, l := range strings.Split(file, "\n") {
		if l = strings.TrimSpace(l); l == "" {
			continue
		}
		code, ok := strings.CutPrefix(l, secretPrefix)
		if !ok {
			return signer{}, fmt.Errorf("line %d does not begin with %s", i+1, secretPrefix)
		}
		key, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(code, "="))
		if err != nil {
			return signer{}, fmt.Errorf("line %d is not base64 after %s", i+1, secretPrefix)
		}
		if len(key) < 16 {
			return signer{}, fmt.Errorf("line %d holds a secret of %d bytes; 24 are usual, fewer than 16 are refused",
				i+1, len(key))
		}
		s.keys, s.text = append(s.keys, key), append(s.text, code)
	}
	if len(s.keys) == 0 {
		return signer{}, errors.New("it is empty")
	}
	return s, nil
}

// sign is the signature header of a message sent at that time.
func (s signer) sign(id string, at time.Time, body []byte) string {
	var all []string
	for _, key := range s.keys {
		h := hmac.New(sha256.New, key)
		fmt.Fprintf(h, "%s.%s.", id, unixSeconds(at))
		h.Write(body)
		all = append(all, "v1,"+base64.StdEncoding.EncodeToString(h.Sum(nil)))
	}
	return strings.Join(all, " ")
}

func unixSeconds(t time.Time) string { return strconv.FormatInt(t.Unix(), 10) }
