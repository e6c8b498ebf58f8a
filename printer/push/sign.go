package push

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

// Headers of Standard Webhooks 1.0 (standardwebhooks.com). By them the display can verify that a
// ticket comes from this installation and is not an old one sent again by somebody else.
const (
	headerID        = "webhook-id"
	headerTimestamp = "webhook-timestamp" // seconds since 1970
	headerSignature = "webhook-signature" // "v1," and base64 of an HMAC-SHA256; several with spaces between
)

const secretPrefix = "whsec_"

// A signer signs with one secret; with several while they are being exchanged, so that the display
// accepts either.
type signer struct {
	keys [][]byte
	text []string // the secrets as written, to redact them from messages
}

// readSecrets reads a secret file: on each line whsec_ and base64 of at least 16 bytes. Errors
// never contain any of it.
func readSecrets(file string) (signer, error) {
	var s signer
	for i, l := range strings.Split(file, "\n") {
		if l = strings.TrimSpace(l); l == "" {
			continue
		}
		code, ok := strings.CutPrefix(l, secretPrefix)
		if !ok {
			return signer{}, fmt.Errorf("line %d: want %s and base64", i+1, secretPrefix)
		}
		key, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(code, "="))
		if err != nil {
			return signer{}, fmt.Errorf("line %d: not base64 after %s", i+1, secretPrefix)
		}
		if len(key) < 16 {
			return signer{}, fmt.Errorf("line %d: a secret of %d bytes; want at least 16, usually 24",
				i+1, len(key))
		}
		s.keys, s.text = append(s.keys, key), append(s.text, code)
	}
	if len(s.keys) == 0 {
		return signer{}, errors.New("contains no secret")
	}
	return s, nil
}

// sign returns the signature header of a message: for each secret the HMAC of "id.timestamp.body".
// The time is part of it, so that a display can refuse an old message that somebody recorded.
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
