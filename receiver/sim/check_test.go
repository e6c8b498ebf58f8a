package sim

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode"

	"ticketrail/receiver/contract"
)

func TestACorrectEndpointPassesEveryRow(t *testing.T) {
	for name, change := range map[string]func(*testEndpoint){
		"it marks duplicates":      func(*testEndpoint) {},
		"it marks nothing":         func(e *testEndpoint) { e.silent = true },
		"it answers 202":           func(e *testEndpoint) { e.done, e.duplicate = 202, 202 },
		"it uses 403 only":         func(e *testEndpoint) { e.noVenue, e.noDevice = 403, 403 },
		"it marks duplicates only": func(e *testEndpoint) { e.duplicatesOnly = true },
		"it takes almost five seconds": func(e *testEndpoint) {
			e.opened = func(writer, *http.Request, contract.PrintRequest) bool {
				time.Sleep(4900 * time.Millisecond)
				return false
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := newTestEndpoint()
				change(e)
				failed, n := failures(t, e)
				for _, f := range failed {
					t.Error(f)
				}
				if n < 50 {
					t.Errorf("it was checked for %d things only", n)
				}
			})
		})
	}
}

func TestEveryWrongEndpointFailsARow(t *testing.T) {
	type rows []string // parts of the names of rows
	contains := func(text string) func(contract.PrintRequest) bool {
		return func(p contract.PrintRequest) bool { return bytes.Contains(p.Raw, []byte(text)) }
	}
	for name, c := range map[string]struct {
		fails  rows
		change func(*testEndpoint)
	}{
		"it refuses with other statuses": {
			rows{"no x-svc-venueid", "unknown venue", "no x-svc-device-id", "the status", "items that are a string"},
			func(e *testEndpoint) {
				e.noVenue, e.unknown, e.noDevice, e.notJSON, e.mismatch = 400, 401, 500, 422, 422
			},
		},
		"it takes everything": {
			rows{"no x-svc-venueid", "unknown venue", "no x-svc-device-id", "half a body", "no records[0].id"},
			func(e *testEndpoint) {
				e.noVenue, e.unknown, e.noDevice, e.notJSON, e.mismatch = 200, 200, 200, 200, 200
			},
		},
		"it refuses by headers and takes GET": {
			rows{"an order of venue " + venueB, "an order sent in chunks", "an order whose Content-Type", "GET"},
			func(e *testEndpoint) {
				e.before = func(w writer, r *http.Request) bool {
					refuses := r.Header.Get(contract.HeaderVenue) == venueB || r.ContentLength < 0 ||
						strings.Contains(r.Header.Get("Content-Type"), ";")
					if refuses {
						w.WriteHeader(400)
					}
					return refuses || r.Method == http.MethodGet
				}
			},
		},
		"unknown fields are a mismatch": {rows{"unknown fields"}, refuses(400, contains(`"moon"`))},
		"null is no list": {
			rows{"childItems that are null"}, refuses(400, contains(`"childItems":null`)),
		},
		"a void crashes it": {rows{"a void"}, refuses(500, contains(`"quantity":-`))},
		"small orders only": {
			rows{"two records", "modifiers eight levels deep", "a record without an item", "a large party"},
			refuses(400, func(p contract.PrintRequest) bool {
				return len(p.Records) > 1 || len(p.Records[0].Items) == 0 || len(p.Raw) > 20_000 ||
					bytes.Count(p.Raw, []byte(`"childItems":[{`)) > 6
			}),
		},
		"Latin letters only": {rows{"every script"}, refuses(500, func(p contract.PrintRequest) bool {
			return bytes.ContainsFunc(p.Raw, func(r rune) bool { return unicode.Is(unicode.Han, r) })
		})},
		"done is 201":        {rows{"6.1 an order: "}, func(e *testEndpoint) { e.done = 201 }},
		"done is 204":        {rows{"all of the above: the status"}, func(e *testEndpoint) { e.done = 204 }},
		"a duplicate is 500": {rows{"retries after hanging up"}, func(e *testEndpoint) { e.duplicate = 500 }},
		"a duplicate is 409": {rows{"the same request twice"}, func(e *testEndpoint) { e.duplicate = 409 }},
		"a duplicate is new": {rows{"the same request twice"}, func(e *testEndpoint) {
			e.forget = func(contract.PrintRequest) bool { return true }
		}},
		"a retry is new": {rows{"a higher retryCount"}, func(e *testEndpoint) {
			e.forget = func(p contract.PrintRequest) bool { return retry(p) > "0" }
		}},
		"two at once are both new": {rows{"eight times at once"}, racing},
		"refused ids are stored": {rows{"after it was refused for its venue"}, func(e *testEndpoint) {
			e.storesFirst = true
		}},
		"it compares contents": {rows{"the same dishes under another id"}, byContent},
		"late first retries are dropped": {rows{"the third retry"}, func(e *testEndpoint) {
			e.opened = func(w writer, _ *http.Request, p contract.PrintRequest) bool {
				if retry(p) >= "3" && !e.knows(p) {
					e.answer(w, 200, true)
					return true
				}
				return false
			}
		}},
		"it compares two bytes of an id": {rows{"60 orders, 16 at a time"}, func(e *testEndpoint) { e.idBytes = 2 }},
		"it takes six seconds": {rows{"the time"}, func(e *testEndpoint) {
			e.opened = func(writer, *http.Request, contract.PrintRequest) bool { time.Sleep(6 * second); return false }
		}},
		"it takes six seconds to refuse": {rows{"the time"}, func(e *testEndpoint) {
			e.before = func(w writer, r *http.Request) bool {
				if r.Header.Get(contract.HeaderDevice) == "" {
					time.Sleep(6 * second)
				}
				return false
			}
		}},
		"one order at a time": {rows{"60 orders, 16 at a time"}, func(e *testEndpoint) { e.takes = second / 2 }},
		"it hangs up": {rows{"an order: "}, func(e *testEndpoint) {
			e.opened = func(writer, *http.Request, contract.PrintRequest) bool { panic(http.ErrAbortHandler) }
		}},
		"busy is 429":                     {rows{"the status"}, busy},
		"an abandoned order stays locked": {rows{"retries after hanging up"}, locked},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := newTestEndpoint()
				c.change(e)
				failed, _ := failures(t, e)
				for _, row := range c.fails {
					if !slices.ContainsFunc(failed, func(f string) bool { return strings.Contains(f, row) }) {
						t.Errorf("nothing says %q; failed:\n%s", row, strings.Join(failed, "\n"))
					}
				}
			})
		})
	}
}

func TestAnEndpointThatCannotBeReachedPassesOnlyTheRowAboutItsAddress(t *testing.T) {
	refused := roundTrip(func(*http.Request) (*http.Response, error) {
		return nil, errors.New("dial tcp 127.0.0.1:80: connection refused")
	})
	results := Check(t.Context(), CheckOptions{
		URL: "http://127.0.0.1/hook", Venues: []string{venueA}, Load: 4, Backoff: 1, Transport: refused,
	})
	for _, r := range results {
		if r.Verdict != Unseen && (r.Verdict == Pass) != (r.Name == "the address is HTTPS") {
			t.Errorf("%s %s: want %s, got %s", r.Section, r.Name, r.Want, r.Got)
		}
	}
}

func TestControlCharactersOfAnAnswerAreNotPrinted(t *testing.T) {
	o := CheckOptions{URL: "http://127.0.0.1/", Venues: []string{venueA}, Transport: answering(
		"HTTP/1.1 200 OK\r\n\x1b]0;pwned\x07\xe2\x80\xae no header\r\n\r\n")}
	c := checker{ctx: t.Context(), o: o, orders: NewOrders(OrderOptions{Venues: []string{venueA}})}
	r := c.send(c.postOf(c.newOrder()))
	if got := r.String(); r.err == nil || strings.ContainsFunc(got, func(r rune) bool { return !unicode.IsPrint(r) }) ||
		!strings.Contains(got, "no header") {
		t.Errorf("%q", got)
	}
}

func TestAnInterruptedCheckReturnsItsResultsSoFar(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := 0
	got := Check(ctx, CheckOptions{URL: "http://127.0.0.1/", Venues: []string{venueA}, OnResult: func(Result) {
		if n++; n == 3 {
			cancel()
		}
	}, Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Body: http.NoBody}, r.Context().Err()
	})})
	if len(got) != 3 {
		t.Errorf("returns %d results", len(got))
	}
}

func TestAnAddressMustBeHTTPSOrOfThisMachine(t *testing.T) {
	for to, want := range map[string]bool{
		"https://kitchen.example/hook": true, "http://127.0.0.1:8443/": true,
		"http://localhost/": true, "http://[::1]:80/": true,
		"http://kitchen.example/hook": false, "http://192.168.1.5/": false, "http://%": false,
	} {
		if _, pass := addressRows(CheckOptions{URL: to})[0].run(nil); pass != want {
			t.Errorf("%s: %t", to, pass)
		}
	}
}

// failures are the rows that the endpoint does not pass.
func failures(t *testing.T, e http.Handler) (failed []string, n int) {
	results := Check(t.Context(), CheckOptions{
		URL: "http://127.0.0.1/hook", Venues: []string{venueA, venueB}, Transport: inMemory(t, e), Load: 60,
	})
	for _, r := range results {
		if r.Verdict == Fail {
			failed = append(failed, r.Section+" "+r.Name+": want "+r.Want+", got "+r.Got)
		}
	}
	return failed, len(results)
}

// refuses has an endpoint answer correct requests with a status.
func refuses(status int, which func(contract.PrintRequest) bool) func(*testEndpoint) {
	return func(e *testEndpoint) {
		e.opened = func(w writer, _ *http.Request, p contract.PrintRequest) bool {
			if which(p) {
				w.WriteHeader(status)
				return true
			}
			return false
		}
	}
}

func retry(p contract.PrintRequest) json.Number {
	return json.Number(p.Records[0].Fields.Get("retryCount").Text())
}

// answering is a server that answers each request with these bytes.
func answering(wire string) *http.Transport {
	return &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go func() {
			_, _ = http.ReadRequest(bufio.NewReader(server))
			_, _ = io.WriteString(server, wire)
			_ = server.Close()
		}()
		return client, nil
	}}
}
