package posapi

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// grown is how many bytes f allocates.
func grown(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestAnAnswerOfMillionsOfTinyValuesCostsNoMoreThanItsSize(t *testing.T) {
	var keys strings.Builder
	for i := range 400_000 {
		fmt.Fprintf(&keys, `,"%x":0`, i)
	}
	for name, c := range map[string]struct{ body, want string }{
		"records":        {`{"records":[` + strings.Repeat("{},", 1_400_000) + `{}]}`, "the list has more than 100000 records"},
		"no records":     {`{"records":[` + strings.Repeat("1,", 2_000_000) + `1]}`, "records[0]: want an object, got a number"},
		"members":        {`{"a":0` + keys.String() + `}`, "records: want an array, got nothing"},
		"members inside": {`{"records":[{"a":0` + keys.String() + `}]}`, ""},
		"scopes":         {`{"records":[],"scopes":[` + strings.Repeat(`"",`, 1_300_000) + `""]}`, ""},
	} {
		s := &service{Employees: func(w http.ResponseWriter, _ *http.Request) { answerJSON(w, c.body) }}
		s.Me = s.Employees
		v := client(t, s, &Options{Timeout: time.Minute}).Venue(grill)
		if name == "scopes" {
			if _, err := v.Me(t.Context()); err != nil {
				t.Error(err)
			}
		}
		var err error
		// The recorder of the test and the reader of the client double their buffers as they fill.
		if got := grown(func() { _, err = names(v, t.Context()) }) >> 20; got > 100 {
			t.Errorf("%s: %d MiB for an answer of %d", name, got, len(c.body)>>20)
		}
		if c.want == "" && err != nil || c.want != "" && !strings.HasSuffix(fmt.Sprint(err), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAListWithoutEndEndsAndIsNotRemembered(t *testing.T) {
	n, pad := 0, strings.Repeat("x", 70)
	s := &service{Employees: func(w http.ResponseWriter, _ *http.Request) {
		n++
		var records strings.Builder
		for i := range 100 {
			fmt.Fprintf(&records, `,{"id":"%d-%d-%s"}`, n, i, pad)
		}
		answerJSON(w, fmt.Sprintf(`{"records":[%s],"count":%d,"cursor":"%d%s"}`, records.String()[1:], n, n, pad))
	}}
	v := client(t, s, nil).Venue(grill)
	for e, err := range v.list(t.Context(), CallEmployees, "/v1/labor/employees", url.Values{}) {
		if err != nil {
			if !errors.Is(err, ErrMalformed) || n != 1001 {
				t.Errorf("%v after %d pages", err, n)
			}
			return
		}
		if n > 1001 {
			t.Fatal("it goes on", e.at)
		}
	}
	t.Error("no error")
}

func TestOnTheLastPageACursorElsewhereIsThePagesOwn(t *testing.T) {
	for _, c := range []map[string]string{
		{"": `{"records":[{"name":"A"}],"nextCursor":"2"}`, "2": `{"records":[{"name":"B"}],"cursor":"2","nextCursor":"3"}`, "3": `{"records":[{"name":"C"}],"cursor":"3"}`},
		{"": "X-Next-Cursor: 2\n" + `{"records":[{"name":"A"}]}`, "2": "X-Next-Cursor: 3\n" + `{"records":[{"name":"B"}],"cursor":"2"}`, "3": `{"records":[{"name":"C"}],"meta":{"cursor":"3"}}`},
		{"": `{"records":[{"name":"A"}],"meta":{"next_cursor":"2"}}`, "2": `{"records":[{"name":"B"}],"meta":{"next_cursor":"3","cursor":"2"}}`, "3": `{"records":[{"name":"C"}],"meta":{"cursor":"3"}}`},
	} {
		s := staff(c)
		got, err := names(client(t, s, nil).Venue(grill), t.Context())
		if err != nil || !slices.Equal(got, []string{"A", "B", "C"}) || len(s.calls()) != 3 {
			t.Errorf("%v, %v, asked %v", got, err, s.calls())
		}
	}
}

func TestScopesAndTheVenueOfMeAreShortAndPrintable(t *testing.T) {
	s := &service{
		Me: func(w http.ResponseWriter, _ *http.Request) {
			answerJSON(w, `{"venueId":"V\u001b[2J\u202e`+strings.Repeat("v", 1000)+`","scopes":["a\u001b]0;x\u0007","","`+strings.Repeat("s", 1000)+`"`+strings.Repeat(`,"x"`, 1000)+`]}`)
		},
		Employees: func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusForbidden) },
	}
	v := client(t, s, nil).Venue(grill)
	_, err := names(v, t.Context())
	e := problem(t, err)
	me, err := v.Me(t.Context())
	if err != nil || len(me.Venue) > 210 || strings.ContainsAny(me.Venue, "\x1b\u202e") {
		t.Errorf("%q, %v", me.Venue, err)
	}
	for _, got := range [][]string{e.Scopes, me.Scopes} {
		if len(got) != maxScopes-1 || got[0] != "a ]0;x" || len(got[1]) > maxScope+3 {
			t.Errorf("%d scopes, %.200q", len(got), got)
		}
	}
	me.Scopes[0] = "changed"
	if _, err := names(v, t.Context()); problem(t, err).Scopes[0] != "a ]0;x" {
		t.Error("who asked changes what others are told")
	}
}

func TestATokenThatComesAloneIsNotTold(t *testing.T) {
	for _, body := range []string{"2YotnFZFEjr1zCsicMWpAA", `"2YotnFZFEjr1zCsicMWpAA"`, "access=2YotnFZFEjr1zCsicMWpAA\n", "<t>2YotnFZFEjr1zCsicMWpAA</t>", `["2YotnFZFEjr1zCsicMWpAA"]`, ""} {
		s := &service{Token: func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(body)) }}
		_, err := client(t, s, nil).Me(t.Context(), grill)
		if e := problem(t, err); strings.Contains(fmt.Sprintf("%+v %v", *e, e), "2Yotn") || !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v", body, err)
		}
	}
}

func TestHalfASecretInAnAnswerThatBreaksOffIsNotTold(t *testing.T) {
	for cut := 1; cut < 8; cut++ {
		s := new(service)
		s.Me = func(w http.ResponseWriter, r *http.Request) {
			word := theSecret
			if cut%2 == 0 {
				word = strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
			}
			w.Header().Set("Content-Length", "5000")
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = w.Write([]byte("cannot take " + word[:len(word)-cut]))
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
		synctest.Test(t, func(t *testing.T) {
			_, err := client(t, nil, &Options{BaseURL: "http://localhost/api", Transport: piped(t, s)}).Me(t.Context(), grill)
			if e := problem(t, err); e.Says != "cannot take [secret]" {
				t.Errorf("%d bytes less: %v", cut, err)
			}
		})
	}
}

func TestASecretBesideANumberThatLooksLikeOneIsNotTold(t *testing.T) {
	h := new(hush)
	h.add("20240101", "s3cret/word+")
	for in, want := range map[string]string{
		`{"n":20240101,"s":"s3cret/word+","t":"20240101"}`: `{"n":20240101,"s":"[secret]","t":"[secret]"}`,
		`a=s3cret%2fword%2b&b=s3cret%2Fword%2B`:            `a=[secret]&b=[secret]`,
	} {
		if got := string(h.body([]byte(in))); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestAClockThatIsCenturiesOffIsSeen(t *testing.T) {
	for stamp, want := range map[string]float64{
		`"serverRequestTimestamp":"9999-01-01T00:00:00Z"`:  9e9,
		`"serverResponseTimestamp":"0001-01-01T00:00:00Z"`: -9e9,
		`"serverClientDrift":1e300`:                        9e9,
		`"serverClientDrift":"-1e300"`:                     -9e9,
	} {
		s := &service{Me: func(w http.ResponseWriter, _ *http.Request) { answerJSON(w, `{`+stamp+`}`) }}
		v := client(t, s, nil).Venue(grill)
		_, err := v.Me(t.Context())
		if got, known := v.Drift(); err != nil || !known || math.Abs(got-want) > 3e8 {
			t.Errorf("%s: %v, %v, %v", stamp, got, known, err)
		}
	}
}

func TestACallIsOverAfterTwoMinutesHoweverItsPartsAddUp(t *testing.T) {
	slow := func(status int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			select {
			case <-time.After(9 * time.Second):
			case <-r.Context().Done():
			}
			w.Header().Set("Retry-After", "30")
			w.WriteHeader(status)
		}
	}
	for name, c := range map[string]struct {
		s    *service
		want time.Duration
	}{
		"token": {&service{Token: slow(503)}, 2 * time.Minute},
		"both": {&service{Me: func() http.HandlerFunc {
			n := 0
			return func(w http.ResponseWriter, r *http.Request) {
				if n++; n%3 == 0 {
					w.WriteHeader(http.StatusUnauthorized)
					return
				}
				slow(503)(w, r)
			}
		}()}, 2 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				_, err := client(t, c.s, nil).Me(t.Context(), grill)
				if took := time.Since(began); took > c.want || took < time.Minute || !errors.Is(err, ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("after %v: %v", took, err)
				}
			})
		})
	}
}

func TestAPanicOverASecretOrATokenIsAnErrorAndNoMore(t *testing.T) {
	broken := true
	c := client(t, new(service), &Options{Secret: func() (string, error) {
		if broken {
			panic("disk on fire")
		}
		return theSecret, nil
	}})
	if _, err := c.Me(t.Context(), grill); err == nil || !strings.Contains(err.Error(), "a panic; see the log") {
		t.Error(err)
	}
	broken = false
	if _, err := c.Me(t.Context(), grill); err != nil {
		t.Error(err)
	}
}
