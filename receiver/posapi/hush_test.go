package posapi

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
)

func TestWhatIsNoJSONIsQuotedBrieflyAndCleanly(t *testing.T) {
	for body, want := range map[string]string{
		"<html>\n<body>\x1b]0;pwned\x07 Wartung\u202e</body>": "<html> <body> ]0;pwned Wartung </body>",
		"caf\xe9 \x00\x9b1m":                                     "caf� �1m",
		strings.Repeat("é", 101):                                 strings.Repeat("é", 100) + "…",
		strings.Repeat("a b ", 100):                              strings.TrimSpace(strings.Repeat("a b ", 50)) + "…",
		strings.Repeat(" ", 1000) + "late":                       "late",
		"Authorization: Bearer abcdefghijklmnop.qrst":            "Authorization: Bearer [secret]",
		"https://u:p@proxy.example.com?x_token=abc&b=1":          "https://[secret]@proxy.example.com?x_token=[secret]&b=1",
		"jwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0.abc and more": "jwt [secret] and more",
	} {
		s := &service{Me: func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(body)) }}
		_, err := client(t, s, nil).Me(t.Context(), grill)
		if e := problem(t, err); e.Says != want || !errors.Is(err, ErrMalformed) {
			t.Errorf("%q: %q, want %q", body, e.Says, want)
		}
	}
}

func TestErrorsAreReadInWhateverFormTheyCome(t *testing.T) {
	for body, want := range map[string]string{
		`{"error":{"code":"x","message":"no such venue"}}`: "no such venue",
		`{"error":"nope"}`:                    "nope",
		`{"message":"nope","code":7}`:         "nope",
		`{"status":"ERROR","code":7}`:         "7",
		`{"title":"Bad","detail":"very bad"}`: "very bad",
		`{"errors":[]}`:                       `{"errors":[]}`,
		`{"message":`:                         `{"message":`,
		``:                                    ``,
	} {
		s := &service{Me: func(w http.ResponseWriter, _ *http.Request) { http.Error(w, body, http.StatusUnprocessableEntity) }}
		_, err := client(t, s, nil).Me(t.Context(), grill)
		if e := problem(t, err); e.Says != want || e.Status != 422 {
			t.Errorf("%s: %q, want %q", body, e.Says, want)
		}
	}
}

// tells looks for any spelling of the secret, or of a token that was ever issued, in what a
// person, a log or a file could come to see of anything that the client hands out.
func tells(t *testing.T, s *service, where string, shown ...any) {
	t.Helper()
	words := []string{theSecret}
	for token := range s.issued {
		words = append(words, token)
	}
	for _, w := range slices.Clone(words) {
		quoted, _ := json.Marshal(w)
		words = append(words, string(quoted[1:len(quoted)-1]), url.QueryEscape(w), url.PathEscape(w), html.EscapeString(w),
			base64.StdEncoding.EncodeToString([]byte(w)), fmt.Sprintf("%x", w), fmt.Sprint([]byte(w)))
	}
	words = append(words, base64.StdEncoding.EncodeToString([]byte("kitchen:"+url.QueryEscape(theSecret))))
	var log bytes.Buffer
	for _, v := range shown {
		for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
			fmt.Fprintf(&log, format+"\n", v)
		}
		_ = json.NewEncoder(&log).Encode(v)
		slog.New(slog.NewTextHandler(&log, nil)).Info("shown", "v", v)
		slog.New(slog.NewJSONHandler(&log, nil)).Info("shown", "v", v)
		if err, ok := v.(error); ok {
			for err = errors.Unwrap(err); err != nil; err = errors.Unwrap(err) {
				fmt.Fprintf(&log, "%v %#v\n", err, err)
			}
		}
	}
	for _, w := range words {
		if i := strings.Index(log.String(), w); i >= 0 {
			t.Errorf("%s tells %q: …%.300s", where, w, log.String()[max(0, i-60):])
		}
	}
}

// An evil service gives everything back that it was sent, in every spelling and place.
func evil(s *service, w http.ResponseWriter, r *http.Request, how string) {
	_ = r.ParseForm()
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	if how == "truncated" && token == "" {
		token = s.issue(grill) // a new one can only be known by its place
	}
	echo := strings.Join([]string{theSecret, token, r.Header.Get("Authorization"), r.PostForm.Encode(), url.PathEscape(theSecret), html.EscapeString(theSecret)}, " | ")
	quoted, _ := json.Marshal(echo)
	switch how {
	case "html":
		_, _ = w.Write([]byte("<html>" + echo))
	case "envelope":
		answerJSON(w, fmt.Sprintf(`{"status":%[1]s,"error":{"message":%[1]s}}`, quoted))
	case "message":
		w.WriteHeader(403)
		answerJSON(w, fmt.Sprintf(`{"error":{"code":%[1]s,"message":%[1]s}}`, quoted))
	case "oauth":
		w.WriteHeader(400)
		answerJSON(w, fmt.Sprintf(`{"error":%[1]s,"error_description":%[1]s,"error_uri":%[1]s}`, quoted))
	case "oauth200":
		answerJSON(w, fmt.Sprintf(`{"error":%[1]s,"error_description":%[1]s}`, quoted))
	case "plain":
		w.WriteHeader(500)
		_, _ = w.Write([]byte(echo))
	case "redirect":
		w.Header().Set("Location", "https://"+url.UserPassword(theSecret, token).String()+"@x.example.com/"+url.PathEscape(theSecret)+"/"+token+"?t="+token)
		w.WriteHeader(302)
	case "truncated":
		_, _ = w.Write([]byte(`{"access_token":"` + token + `","x":` + string(quoted[:len(quoted)-1])))
	case "type":
		w.Header().Set("Content-Type", theSecret+token)
		_, _ = w.Write([]byte("x"))
	case "values":
		answerJSON(w, fmt.Sprintf(`{"status":"SUCCESS","venueId":%[1]s,"scopes":[%[1]s],"cursor":%[1]s,"count":1,"records":[{"id":%[1]s,"name":%[1]s,"meta":{"timezone":%[1]s},`+
			`"payrollPeriodStartDateTime":%[1]s}]}`, quoted))
	case "cursor":
		answerJSON(w, fmt.Sprintf(`{"records":[{"id":"A"}],"cursor":%s}`, quoted))
	case "hangup":
		panic(http.ErrAbortHandler)
	}
}

func TestTheSecretAndTokensAreNeverTold(t *testing.T) {
	ways := []string{"html", "envelope", "message", "oauth", "oauth200", "plain", "redirect", "truncated", "type", "values", "cursor", "hangup"}
	for _, place := range []string{"token", "api"} {
		for _, how := range ways {
			for _, style := range []string{AuthParams, AuthHeader} {
				synctest.Test(t, func(t *testing.T) { neverTold(t, place, how, style) })
			}
		}
	}
}

func neverTold(t *testing.T, place, how, style string) {
	s := new(service)
	bad := func(w http.ResponseWriter, r *http.Request) { evil(s, w, r, how) }
	if place == "token" {
		s.Token = bad
	} else {
		s.Me, s.Employees, s.Payroll = bad, bad, bad
	}
	log := new(locked)
	logger := slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	c := client(t, nil, &Options{BaseURL: "http://localhost/api", Transport: piped(t, s), Token: TokenOptions{AuthStyle: style}, Logger: logger})
	v := c.Venue(grill)
	me, err := v.Me(t.Context())
	p, err2 := v.PayrollPeriods(t.Context())
	options := c.o
	options.Transport, options.Logger = nil, nil // are not ours, and at work
	shown := []any{c, options, v, me, string(me.Raw), p, err, err2}
	for e, err := range v.Employees(t.Context()) {
		shown = append(shown, e, err, string(e.Raw))
	}
	// What is neither an error nor free of them would show nothing here.
	if strange := place == "api" && (how == "values" || how == "cursor"); err == nil && !strange {
		t.Errorf("%s %s: no error", place, how)
	}
	tells(t, s, place+" "+how, append(shown, log.b.String())...)
}

type locked struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func TestAHeldTokenIsNotShownByPrintingWhatHoldsIt(t *testing.T) {
	s := new(service)
	c := client(t, s, nil)
	if _, err := c.Me(t.Context(), grill); err != nil {
		t.Fatal(err)
	}
	tells(t, s, "client", c, c.Venue(grill), map[string]any{"a": c, "b": []any{c.Venue(grill)}}, struct {
		C *Client
		V *Venue
	}{c, c.Venue(grill)}, struct{ v *Venue }{c.Venue(grill)})
	if fmt.Sprintf("%v %+v %#v", c, c.Venue(grill), c) != "client of https://pos.example.com/api "+grill+" client of https://pos.example.com/api" {
		t.Errorf("%v %+v %#v", c, c.Venue(grill), c)
	}
}

func TestJSONStaysJSONWithoutTheSecret(t *testing.T) {
	h := new(hush)
	h.add("123456789", `se"cr/et`, "a")
	for in, want := range map[string]string{
		`{"a":"x 123456789","n":"abc"}`:              `{"a":"x [secret]","n":"abc"}`,
		`{"n":9123456789.5}`:                         `{"n":9123456789.5}`,
		`["\u0073e\u0022cr\/et\\","\\","b\"",{}]`:    `["[secret]\\","\\","b\"",{}]`,
		`{"s\u0065\"cr/et":{"a\u0062":"se\"cr/et"}}`: `{"[secret]":{"a\u0062":"[secret]"}}`,
		`se"cr/et and \`:                             `[secret] and \`,
		``:                                           ``,
	} {
		if got := string(h.body([]byte(in))); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

func TestAHushRemembersTheSecretHoweverManyTokensCome(t *testing.T) {
	h := new(hush)
	for i := range 1000 {
		h.add(theSecret)
		h.add(fmt.Sprintf("token-%d", i))
	}
	if got := h.text([]byte(theSecret + " token-999 token-998")); got != "[secret] [secret] [secret]" || len(h.words) > maxWords {
		t.Errorf("%s, %d words", got, len(h.words))
	}
}
