package posapi

import (
	"encoding/json"
	"errors"
	"net/http"
	"testing"
	"unicode"
	"unicode/utf8"
)

// FuzzAnswers has every call read the same body: no value beside an error, and nothing in the
// error that a terminal could obey.
func FuzzAnswers(f *testing.F) {
	for _, body := range []string{
		list(1, period), `{"records":[{"id":"A","name":"Ann"}],"cursor":"x","count":1}`, `{"venue":{"id":"V"},"scope":"a b"}`,
		`{"access_token":"abc","expires_in":1e3,"scope":"a"}`, `{"error":{"message":"no\u001b"}}`, "<html>\x1b[2J", `{"records":[{"id"`,
		`{"records":[],"serverClientDrift":1e400,"serverRequestTimestamp":"2026-01-01T00:00:00Z"}`, "\xef\xbb\xbf{}", `{"count":-1,"records":null}`, ``,
	} {
		f.Add([]byte(body), 200, "application/json", "")
		f.Add([]byte(body), 403, "text/\x1bhtml", "next")
	}
	f.Fuzz(func(t *testing.T, body []byte, status int, kind, header string) {
		c, err := New(Options{BaseURL: "https://pos.example.com", ClientID: "a", Secret: secret, Transport: http.NewFileTransport(http.Dir("."))})
		if err != nil {
			t.Fatal(err)
		}
		v := c.Venue(grill)
		a := answer{status: 100 + (status&0x7fffffff)%500, body: v.hush.body(body), header: http.Header{"Content-Type": {kind}, "X-Next-Cursor": {header}, "Retry-After": {header}, "Date": {kind}}}
		clean := func(e *Error, empty bool) { t.Helper(); cleanError(t, e, empty) }
		for _, call := range Calls() {
			clean(v.judge(call, a), true)
		}
		trip := tokenTrip{v: v}
		token, e := trip.open(a)
		clean(e, token == "")
		if e == nil && (token == "" || trip.life <= 0) {
			t.Fatalf("token %q for %v", token, trip.life)
		}
		me, e := v.openMe(a)
		clean(e, me.Raw == nil)
		if e == nil {
			if json.Valid(body) && !json.Valid(me.Raw) {
				t.Fatalf("%s became %s", body, me.Raw)
			}
		}
		page, e := v.open(CallEmployees, a, "")
		clean(e, e == nil || page.records == nil && page.next == "")
		r := newReading(v, CallEmployees)
		r.open(page)
		for _, raw := range page.records {
			rec, fresh, e := r.take(raw)
			clean(e, !fresh)
			if e != nil {
				break
			}
			cleanRecord(t, rec)
		}
		_, err = r.turn(page)
		if bad, ok := errors.AsType[*Error](err); ok {
			clean(bad, true)
		}
	})
}

func cleanError(t *testing.T, e *Error, empty bool) {
	t.Helper()
	if e == nil {
		return
	}
	if !empty {
		t.Fatalf("a value beside the error %v", e)
	}
	if e.Problem == "" || e.kind == nil || e.result == "" || len(e.Says) > maxQuote+len("…") || !utf8.ValidString(e.Error()) {
		t.Fatalf("%#v", e)
	}
	for _, r := range e.Error() {
		if !unicode.IsPrint(r) {
			t.Fatalf("%q in %q", r, e.Error())
		}
	}
}

func cleanRecord(t *testing.T, rec record) {
	t.Helper()
	if b, err := json.Marshal(rec.employee()); err != nil || !json.Valid(b) {
		t.Fatalf("%s, %v", b, err)
	}
	p, wrong := rec.period()
	if wrong == "" && (p.Start.IsZero() || p.End.IsZero()) {
		t.Fatalf("no dates in %s", rec.raw)
	}
	if b, err := json.Marshal(p); err != nil || !json.Valid(b) {
		t.Fatalf("%s, %v", b, err)
	}
}
