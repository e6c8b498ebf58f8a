package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Headers of Standard Webhooks 1.0 (standardwebhooks.com). By them the receiver can verify that a
// message comes from this installation and is not an old one sent again by somebody else.
const (
	headerID        = "webhook-id"
	headerTimestamp = "webhook-timestamp" // seconds since 1970
	headerSignature = "webhook-signature" // "v1," and base64 of an HMAC-SHA256; several with spaces between
)

const secretPrefix = "whsec_"

// Keys sign with one secret; with several while they are being exchanged, so that the receiver accepts either.
// The zero Keys sign nothing.
type Keys struct {
	keys [][]byte
	text []string // the secrets as written, to redact them from errors
}

// ReadKeys reads a secret file: on each line whsec_ and base64 of at least 16 bytes. Errors
// never contain any of it.
func ReadKeys(file string) (Keys, error) {
	var k Keys
	for i, l := range strings.Split(file, "\n") {
		if l = strings.TrimSpace(l); l == "" {
			continue
		}
		code, ok := strings.CutPrefix(l, secretPrefix)
		if !ok {
			return Keys{}, fmt.Errorf("line %d: want %s and base64", i+1, secretPrefix)
		}

		key, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(code, "="))
		if err != nil {
			return Keys{}, fmt.Errorf("line %d: not base64 after %s", i+1, secretPrefix)
		}

		if len(key) < 16 {
			return Keys{}, fmt.Errorf("line %d: a secret of %d bytes; want at least 16, usually 24",
				i+1, len(key))
		}

		k.keys, k.text = append(k.keys, key), append(k.text, code)
	}

	if len(k.keys) == 0 {
		return Keys{}, errors.New("contains no secret")
	}
	return k, nil
}

// sign sets the headers of a message: its id, which is the same when it is sent again, the time, and for
// each secret the HMAC of "id.timestamp.body". The time is part of it, so that the receiver can refuse an
// old message that somebody recorded.
func (k Keys) sign(h http.Header, id string, at time.Time, body []byte) {
	if len(k.keys) == 0 {
		return
	}
	seconds := strconv.FormatInt(at.Unix(), 10)
	var signatures []string
	for _, key := range k.keys {
		hash := hmac.New(sha256.New, key)
		fmt.Fprintf(hash, "%s.%s.%s", id, seconds, body)
		signatures = append(signatures, "v1,"+base64.StdEncoding.EncodeToString(hash.Sum(nil)))
	}

	h.Set(headerID, id)
	h.Set(headerTimestamp, seconds)
	h.Set(headerSignature, strings.Join(signatures, " "))
}
