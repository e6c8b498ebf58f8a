package sim

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"ticketrail/receiver/contract"
)

// An exchange is one request and its answer. The answer is complete in memory before any of it is
// sent, so that a fault can still change it.
type exchange struct {
	s      *Service
	r      *http.Request
	began  time.Time
	faults []Fault
	venue  string // canonical id; empty until the token is known

	status int         // 0: there is no answer yet
	header http.Header // of the answer
	body   []byte
}

// maxBody is the largest request body, in bytes. Only a token request has one, of some 200 bytes.
const maxBody = 16 << 10

// readBody reads the body before anything else. While a body is unread, net/http does not notice
// that the caller has hung up, and a fault that waits for that would wait for ever.
func (x *exchange) readBody() {
	body, _ := io.ReadAll(io.LimitReader(x.r.Body, maxBody))
	x.r.Body = io.NopCloser(bytes.NewReader(body))
}

// stamp writes a time as the contract shows it: UTC, RFC 3339 with milliseconds.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z07:00") }

// answer sets the answer.
func (x *exchange) answer(status int, body any) {
	x.status, x.body = status, encode(body)
	x.header.Set("Content-Type", contract.ContentType)
}

// refuse answers with an error. The contract does not state the form of the service's errors.
func (x *exchange) refuse(status int, code, message string) {
	x.answer(status, map[string]any{
		contract.FieldStatus:        contract.ValueError,
		contract.FieldError:         map[string]any{"code": code, "message": message},
		contract.FieldRequestStamp:  stamp(x.began),
		contract.FieldResponseStamp: stamp(time.Now()),
	})
}

// list answers with one page of a list, in the envelope that the contract states (section 2.1).
// length counts the page, count the whole list.
func (x *exchange) list(records []map[string]any, count int, next string) {
	envelope := map[string]any{
		contract.FieldRecords:       list(records...),
		contract.FieldLength:        len(records),
		contract.FieldStatus:        contract.ValueSuccess,
		contract.FieldCount:         count,
		contract.FieldDuration:      time.Since(x.began).Seconds(),
		contract.FieldRequestStamp:  stamp(x.began),
		contract.FieldResponseStamp: stamp(time.Now()),
		contract.FieldClientDrift:   0,
	}

	if next != "" {
		x.nameNext(envelope, next)
	}

	x.answer(http.StatusOK, envelope)
}

// nameNext names the next page where [Options.CursorAt] says.
func (x *exchange) nameNext(envelope map[string]any, next string) {
	at := x.s.o.CursorAt

	header, ok := strings.CutPrefix(at, "header:")
	if !ok {
		parts := strings.Split(at, ".")
		for _, p := range parts[:len(parts)-1] {
			inner := map[string]any{}
			envelope[p], envelope = inner, inner
		}
		envelope[parts[len(parts)-1]] = next
		return
	}

	x.header.Set(header, next)
}

// authorize returns the grant of the request's token. If there is none, it answers 401 or 403. The
// order follows RFC 6750: without a valid token, nothing is said about scopes.
func (x *exchange) authorize(scope string) (g grant, ok bool) {
	scheme, token, _ := strings.Cut(x.r.Header.Get("Authorization"), " ")

	x.s.mu.Lock()
	g, ok = x.s.tokens[strings.TrimSpace(token)]
	x.s.mu.Unlock()

	switch {
	case !strings.EqualFold(scheme, contract.TokenTypeBearer) || token == "":
		x.unauthorized("send Authorization: Bearer and an access token")
		return g, false
	case !ok || g.expired():
		x.unauthorized("the access token is unknown or has expired")
		return g, false
	}

	x.venue = g.venue
	if scope != "" && !slices.Contains(g.scopes, scope) {
		x.header.Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="`+scope+`"`)
		x.refuse(http.StatusForbidden, "insufficient_scope", "this needs the scope "+scope)
		return g, false
	}
	return g, true
}

// unauthorized answers 401.
func (x *exchange) unauthorized(message string) {
	x.header.Set("WWW-Authenticate", `Bearer error="invalid_token"`)
	x.refuse(http.StatusUnauthorized, "invalid_token", message)
}

// me answers with the venue and scopes of the token. The contract does not state its fields.
func (x *exchange) me() {
	if granted, ok := x.authorize(""); ok {
		x.answer(http.StatusOK, map[string]any{
			contract.FieldVenueID: granted.venue, contract.FieldScopes: granted.scopes,
		})
	}
}

// write sends the answer.
func (x *exchange) write(w http.ResponseWriter) {
	w.WriteHeader(x.status)
	_, _ = w.Write(x.body)
}
