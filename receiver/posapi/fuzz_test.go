package posapi

import (
	"encoding/json"
	"net/http"
	"testing"
	"unicode"
	"unicode/utf8"
)

// FuzzAnswers has every call read the same body: there is no value together with an error, and no control
// character in an error.
func FuzzAnswers(f *testing.F) {
	for _, body := range []string{
		list(1, period), `{"records":[{"id":"A","name":"Ann"}],"cursor":"x","count":1}`,
		`{"venue":{"id":"V"},"scope":"a b"}`,
		`{"access_token":"abc","expires_in":1e3,"scope":"a"}`, `{"error":{"message":"no\u001b"}}`, "<html>\x1b[2J",
		`{"records":[{"id"`,
		`{"records":[],"serverClientDrift":1e400,"serverRequestTimestamp":"2026-01-01T00:00:00Z"}`, "\xef\xbb\xbf{}",
		`{"count":-1,"records":null}`, ``,
		`{"records":[{}],"next":"/e?cursor=a%1b"}`, `{"records":[{}],"next":"//%zz?"}`,
	} {
		f.Add([]byte(body), 200, "application/json", "")
		f.Add([]byte(body), 403, "text/\x1bhtml", "next")
		f.Add([]byte(body), 200, "application/json", `<https://h/e?cursor=%1b>; title="a"; rel="next", <b>;rel`)
	}
	f.Fuzz(func(t *testing.T, body []byte, status int, kind, header string) {
		v := client(t, new(service), nil).Venue(grill)
		a := answer{body: body, Response: &http.Response{StatusCode: 100 + (status&0x7fffffff)%500, Header: http.Header{
			"Content-Type": {
				kind,
			}, "X-Next-Cursor": {header}, "Link": {header}, "Retry-After": {header}, "Date": {kind},
			"Location": {header},
		}}}
		clean := func(err error, empty bool) { t.Helper(); cleanError(t, err, empty) }
		for _, call := range []Call{CallToken, CallMe, CallEmployees, CallPayrollPeriods} {
			if e := v.judge(call, &a); e != nil {
				clean(e, true)
			}
		}
		token := a
		if e := v.readToken(&token); e != nil {
			clean(e, true)
		} else if !json.Valid(token.body) {
			t.Fatalf("token %q", token.body)
		}
		me, e := v.readMe(&a)
		if e != nil {
			clean(e, me.Raw == nil)
		} else if json.Valid(body) && !json.Valid(me.Raw) {
			t.Fatalf("%s became %s", body, me.Raw)
		}
		l := &listing{v: v, call: CallEmployees, seen: map[hash]bool{}}
		p, e := l.open(&a)
		if e != nil {
			clean(e, p.records == nil)
			return
		}
		for _, raw := range p.records {
			rec := record{fields: jsonObject(raw), raw: raw}
			if _, problem := rec.period(); problem == "" && jsonText(rec.fields["payrollPeriodStartDateTime"]) == "" {
				t.Fatalf("no dates in %s", rec.raw)
			}
		}
	})
}

func cleanError(t *testing.T, err error, empty bool) {
	t.Helper()
	e := problem(t, err)
	if !empty || e.Problem == "" || e.kind == nil || e.result() == "" || len(e.Problem) > 3*maxQuote ||
		!utf8.ValidString(e.Error()) {
		t.Fatalf("%#v, with a value: %t", e, !empty)
	}
	for _, r := range e.Error() {
		if !unicode.IsPrint(r) {
			t.Fatalf("%q in %q", r, e.Error())
		}
	}
}
