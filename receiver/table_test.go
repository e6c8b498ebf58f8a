package receiver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"ticketrail/deploy/assert"
	"ticketrail/queue/ticket"
	"ticketrail/receiver/contract"
)

// testCase is a request and the world it meets.
type testCase struct {
	method, path, address string
	header                http.Header
	body                  string
	chunked               bool
	intakeErr             error
}

var errFull, errDisk, errBroken, errShut = errors.New("full"), errors.New("disk"), errors.New("broken"),
	errors.New("shut")

func classify(err error) Code {
	switch err {
	case errFull:
		return BacklogFull
	case errDisk:
		return StorageFull
	case errShut:
		return ShuttingDown
	}
	return ""
}

// rows is the table of the specification from the top. Each row makes a request wrong, and
// nothing of a later row's success.
var rows = []struct {
	name    string
	wrong   func(*testCase)
	status  int
	code    Code
	message string
}{
	{"another path", func(r *testCase) { r.path = "/webhooks/print/" }, 404, NotFound, "not found"},
	{"another method", func(r *testCase) { r.method = "PUT" }, 405, MethodNotAllowed, "method not allowed; use POST"},
	{"address", func(r *testCase) { r.address = "192.0.2.7:999" }, 403, AddressNotAllowed,
		"the caller's address is not in allow_from"},
	{"no venue", header(contract.HeaderVenue), 401, VenueMissing, "x-svc-venueid: missing"},
	{"venue is no UUID", header(contract.HeaderVenue, "Harbour Grill"), 403, VenueNotAllowed,
		"x-svc-venueid: not a UUID"},
	{"blank venue", header(contract.HeaderVenue, " "), 403, VenueNotAllowed, "x-svc-venueid: not a UUID"},
	{"another venue", header(contract.HeaderVenue, noVenue), 403, VenueNotAllowed,
		"x-svc-venueid: venue 6f1c8f5e-52ad-4a0b-9e9b-2f7b7b7f3a14 is not listed under venues"},
	{"two venues", header(contract.HeaderVenue, venueID, noVenue), 403, VenueNotAllowed,
		"x-svc-venueid: sent twice, with different values"},
	{"no device", header(contract.HeaderDevice), 401, DeviceMissing, "x-svc-device-id: missing"},
	{"blank device", header(contract.HeaderDevice, "\t "), 401, DeviceMissing, "x-svc-device-id: missing"},
	{"another device", header(contract.HeaderDevice, "stranger"), 403, DeviceNotAllowed,
		"x-svc-device-id: not one of the venue's devices"},
	{"two devices", header(contract.HeaderDevice, device, "stranger"), 403, DeviceNotAllowed,
		"x-svc-device-id: not one of the venue's devices"},
	{"no content type", header("Content-Type"), 400, ContentType, "Content-Type: want application/json"},
	{"content type", header("Content-Type", "text/json"), 400, ContentType, "Content-Type: want application/json"},
	{"too large", func(r *testCase) { r.body += strings.Repeat(" ", 9000) }, 400, BodyTooLarge,
		"the body is larger than 8192 bytes"},
	{"too large, chunked", func(r *testCase) { r.body += strings.Repeat(" ", 9000); r.chunked = true }, 400,
		BodyTooLarge, "the body is larger than 8192 bytes"},
	{"not JSON", func(r *testCase) { r.body = "x" + r.body }, 400, InvalidJSON,
		"byte 0: invalid character 'x' at start of value"},
	{"something after it", func(r *testCase) { r.body = "{} " + r.body }, 400, InvalidJSON,
		"byte 3: text after the object"},
	{"empty", func(r *testCase) { r.body = "" }, 400, InvalidJSON, "byte 0: the body is empty"},
	{"shape", func(r *testCase) { r.body = `{"records":[{"id":"a","items":[{},{},{"childItems":"no"}]}]}` }, 400,
		SchemaMismatch, "records[0].items[2].childItems: want an array, got a string"},
	{"backlog", fails(errFull), 503, BacklogFull, "too many tickets wait to be printed"},
	{"disk full", fails(errDisk), 503, StorageFull, "the disk is full"},
	{"commit failed", fails(errBroken), 503, StorageFailed, "the request could not be stored"},
	{"queue closed", fails(errShut), 503, ShuttingDown, "the receiver is stopping"},
	{"too slow", fails(fmt.Errorf("wait: %w", context.DeadlineExceeded)), 503, TooSlow,
		"the request was not stored in time"},
}

func TestEachRowOfTheTableIsAnswered(t *testing.T) {
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			r := validCase()
			row.wrong(&r)
			b, resp, body := r.run(t)
			code, message := errorOf(t, body)
			assert.True(t, resp.StatusCode == row.status && code == row.code && message == row.message, resp.StatusCode,
				code, message, row.status, row.code, row.message)
			assert.Equal(t, resp.Header.Get("Content-Type"), "application/json")
			got := resp.Header.Get("Retry-After")
			assert.Equal(t, (got != ""), (row.status == 503), got, row.status)
			assert.True(t, len(b.intake.requests()) == 0, "stored all the same")
			kept := b.rejected()
			assert.Equal(t, (len(kept) == 1), row.status < 500 && row.status != 405, len(kept), row.status)
			withBody := row.code != AddressNotAllowed // the others come from an allowed one, and there is no secret
			for _, one := range kept {
				_, isUUID := contract.CanonicalID(one.Venue)
				assert.True(t, one.Venue == "" || isUUID, "what is no venue is stored and logged as one", one.Venue)
				assert.True(t, strings.HasPrefix(one.Message, row.message) && (one.Count == 1) == (one.Body == nil) &&
					(one.Body != nil) == withBody && (one.Count != 1 || (one.Body == nil &&
					one.Message != row.message)), one)
			}
		})
	}
}

func TestARequestWrongInTwoWaysGetsTheFirstAnswer(t *testing.T) {
	for i, first := range rows {
		for _, second := range rows[i+1:] {
			if first.code == second.code || strings.HasPrefix(second.name, "too large, chunked") {
				continue
			}
			if first.status == 503 { // exclude one another: one intake gives one error
				continue
			}
			r := validCase()
			second.wrong(&r)
			first.wrong(&r)
			_, resp, body := r.run(t)
			code, _ := errorOf(t, body)
			assert.True(t, resp.StatusCode == first.status && code == first.code, first.name, second.name,
				resp.StatusCode, code, first.status, first.code)
		}
	}
}

func TestEveryJSONMediaTypeIsTaken(t *testing.T) {
	for media, want := range map[string]int{
		"application/vnd.svc+json": 200, "Application/Problem+JSON; charset=x": 200, "application/json;": 200,
		"text/vnd.svc+json": 400, "application/json-seq": 400, "application/xml": 400, "+json": 400,
	} {
		req := post([]byte(burger))
		req.Header.Set("Content-Type", media)
		assert.Equal(t, newTestbed(t, nil).do(req).Code, want, media)
	}
}

func TestARetryIsAnswered200AndSaysSo(t *testing.T) {
	b := newTestbed(t, nil)
	first, retry := b.do(post([]byte(burger))), b.do(post(contract.Example("retry.json")))
	got := fmt.Sprint(first.Code, first.Body, retry.Code, retry.Body)
	assert.Equal(t, got,
		`200 {"status":"SUCCESS","duplicate":false,"jobs":1} 200 {"status":"SUCCESS","duplicate":true,"jobs":0}`)
	q := b.intake.requests()[0]
	assert.True(t, q.Venue == venueID && q.Device == device && q.ID == "9b2e7c1a-4f0d-4c53-8d8e-0a5f6a3c1b01" &&
		string(q.Body) == burger && len(q.Drafts) == 1, q)
	other := strings.Replace(burger, "Tomato soup", "Pea soup", 1)
	b.want(t, post([]byte(other)), 200)
	b.count(t, `ticketrail_receiver_requests_total{200 conflict}`, 1)
	b.count(t, `ticketrail_receiver_requests_total{200 duplicate}`, 1)
	assert.Contains(t, b.log.String(), "level=WARN msg=\"request id was already used with other content")
}

func TestA4xxIsNeverSentForWhatARetryCanCure(t *testing.T) {
	// An app that classifies wrongly cannot turn a storage error into a lost ticket.
	b := newTestbed(t, func(o *Options, _ *Policy) { o.Classify = func(error) Code { return SchemaMismatch } })
	b.intake.accept = func(context.Context, ticket.Request) (ticket.Receipt, error) {
		return ticket.Receipt{}, errBroken
	}
	b.want(t, post([]byte(burger)), 503)
}

// TestAVenueThatMayBeOneIsAnswered503ToWhoMayPost: others must not make the receiver ask for it.
func TestAVenueThatMayBeOneIsAnswered503ToWhoMayPost(t *testing.T) {
	asked, may := 0, true
	b := newTestbed(t, func(_ *Options, p *Policy) {
		p.Venues, p.Secrets = nil, []string{"the-secret-of-the-path"}
		p.MayBeNewVenue = func(context.Context, string) bool { asked++; return may }
	})
	r := post([]byte(burger))
	b.want(t, r, 404)
	assert.True(t, asked <= 0, "it is asked for a caller without the secret")
	r = post([]byte(burger))
	r.URL.Path += "/the-secret-of-the-path"
	b.want(t, r, 503)
	may = false
	r = post([]byte(burger))
	r.URL.Path += "/the-secret-of-the-path"
	b.want(t, r, 403)
}

// run sends the request to a new receiver.
func (r testCase) run(t *testing.T) (*testbed, *http.Response, []byte) {
	t.Helper()
	b := newTestbed(t, func(o *Options, p *Policy) {
		p.AllowFrom = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
		p.Venues[0].Devices = []string{device}
		p.MaxBody = 8192
		o.Classify = classify
	})
	if r.intakeErr != nil {
		b.intake.accept = func(context.Context, ticket.Request) (ticket.Receipt, error) {
			return ticket.Receipt{}, r.intakeErr
		}
	}
	req := post([]byte(r.body))
	req.Method, req.URL.Path, req.RemoteAddr, req.Header = r.method, r.path, r.address, r.header
	if r.chunked {
		req.ContentLength, req.Body = -1, io.NopCloser(io.MultiReader(strings.NewReader(r.body[:10]),
			strings.NewReader(r.body[10:])))
	}
	w := b.do(req)
	return b, w.Result(), w.Body.Bytes()
}

// header makes a header have these values and no others.
func header(name string, values ...string) func(*testCase) {
	return func(r *testCase) { r.header[http.CanonicalHeaderKey(name)] = values }
}

func fails(err error) func(*testCase) { return func(r *testCase) { r.intakeErr = err } }

func validCase() testCase {
	return testCase{method: "POST", path: "/webhooks/print", address: "10.1.2.3:4567", header: post(nil).Header,
		body: burger}
}
