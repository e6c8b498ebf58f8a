package sim

import (
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

// failures are the rows that the endpoint does not pass.
func failures(t *testing.T, e http.Handler) (failed []string, n int) {
	results := Check(
		t.Context(),
		CheckOptions{
			URL:       "http://127.0.0.1/hook",
			Venues:    []string{venueA, venueB},
			Transport: inMemory(t, e),
			Load:      60,
		},
	)
	for _, r := range results {
		if r.Verdict == Fail {
			failed = append(failed, r.Section+" "+r.Name+": want "+r.Want+", got "+r.Got)
		}
	}
	return failed, len(results)
}

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

// answers makes a function that answers with a status if a condition holds.
func answers(
	status int,
	when func(contract.PrintRequest) bool,
) func(writer, *http.Request, contract.PrintRequest) bool {
	return func(w writer, _ *http.Request, p contract.PrintRequest) bool {
		if when(p) {
			w.WriteHeader(status)
			return true
		}
		return false
	}
}

func retry(p contract.PrintRequest) json.Number {
	n, _ := p.Records[0].Fields["retryCount"].(json.Number)
	return n
}

func TestEveryWrongEndpointFailsARow(t *testing.T) {
	type wrong struct {
		notice string // part of the row that must fail
		change func(*testEndpoint)
	}
	for name, c := range map[string]wrong{
		"no venue is 400":    {"no x-svc-venueid", func(e *testEndpoint) { e.noVenue = 400 }},
		"no device is 500":   {"no x-svc-device-id", func(e *testEndpoint) { e.noDevice = 500 }},
		"broken JSON is 422": {"the status", func(e *testEndpoint) { e.notJSON = 422 }},
		"a duplicate is 500": {"retries after hanging up", func(e *testEndpoint) { e.duplicate = 500 }},
		"a duplicate is new": {"the same request twice", func(e *testEndpoint) {
			e.forget = func(contract.PrintRequest) bool { return true }
		}},
		"a retry is new": {"a higher retryCount", func(e *testEndpoint) {
			e.forget = func(p contract.PrintRequest) bool { return retry(p) > "0" }
		}},
		"two at once are both new": {"eight times at once", racing},
		"refused ids are stored": {"after it was refused for its venue", func(e *testEndpoint) {
			e.storesFirst = true
		}},
		"it compares contents": {"the same dishes under another id", byContent},
		"late first retries are dropped": {"the third retry", func(e *testEndpoint) {
			e.opened = func(w writer, _ *http.Request, p contract.PrintRequest) bool {
				if retry(p) >= "3" && !e.knows(p) {
					e.answer(w, 200, true)
					return true
				}
				return false
			}
		}},
		"it compares two bytes of an id": {"60 orders, 16 at a time", func(e *testEndpoint) { e.idBytes = 2 }},
		"an empty record is a mismatch": {"a record without an item", func(e *testEndpoint) {
			e.opened = answers(400, func(p contract.PrintRequest) bool { return len(p.Records[0].Items) == 0 })
		}},
		"a void crashes it": {"a void", func(e *testEndpoint) {
			e.opened = answers(500, func(p contract.PrintRequest) bool {
				return bytes.Contains(p.Raw, []byte(`"quantity":-`))
			})
		}},
		"small orders only": {"a large party", func(e *testEndpoint) {
			e.opened = answers(400, func(p contract.PrintRequest) bool { return len(p.Raw) > 20_000 })
		}},
		"it takes six seconds": {"the time", func(e *testEndpoint) {
			e.opened = func(writer, *http.Request, contract.PrintRequest) bool { time.Sleep(6 * second); return false }
		}},
		"it takes six seconds to refuse": {"the time", func(e *testEndpoint) {
			e.before = func(w writer, r *http.Request) bool {
				if r.Header.Get(contract.HeaderDevice) == "" {
					time.Sleep(6 * second)
				}
				return false
			}
		}},
		"one order at a time": {"60 orders, 16 at a time", func(e *testEndpoint) { e.takes = 400 * time.Millisecond }},
		"it hangs up": {"an order: ", func(e *testEndpoint) {
			e.opened = func(writer, *http.Request, contract.PrintRequest) bool { panic(http.ErrAbortHandler) }
		}},
		"busy is 429":                     {"the status", busy},
		"an abandoned order stays locked": {"retries after hanging up", locked},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := newTestEndpoint()
				c.change(e)
				failed, _ := failures(t, e)
				if !slices.ContainsFunc(failed, func(f string) bool { return strings.Contains(f, c.notice) }) {
					t.Errorf("nothing says %q; failed:\n%s", c.notice, strings.Join(failed, "\n"))
				}
			})
		})
	}
}

func (e *testEndpoint) knows(p contract.PrintRequest) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.seen[p.ID]
}

func TestAnEndpointThatCannotBeReachedPassesOnlyTheRowAboutItsAddress(t *testing.T) {
	results := Check(
		t.Context(),
		CheckOptions{
			URL:     "http://127.0.0.1/hook",
			Venues:  []string{venueA},
			Load:    4,
			Backoff: 1,
			Transport: roundTrip(func(*http.Request) (*http.Response, error) {
				return nil, errors.New("dial tcp 127.0.0.1:80: connection refused")
			}),
		},
	)
	for _, r := range results {
		if r.Verdict != Unseen && (r.Verdict == Pass) != (r.Name == "the address is HTTPS") {
			t.Errorf("%s %s: want %s, got %s", r.Section, r.Name, r.Want, r.Got)
		}
	}
}

func TestControlCharactersOfAnAnswerAreNotPrinted(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Read(make([]byte, 1<<20))
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n\x1b]0;pwned\x07\xe2\x80\xae no header\r\n\r\n")
			_ = c.Close()
		}
	}()
	c := checker{
		ctx: t.Context(),
		o: CheckOptions{
			URL:       "http://" + l.Addr().String(),
			Venues:    []string{venueA},
			Transport: http.DefaultTransport,
		},
		orders: NewOrders(OrderOptions{Venues: []string{venueA}}),
	}
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
