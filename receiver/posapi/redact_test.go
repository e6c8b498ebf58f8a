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
	"testing"
	"testing/synctest"

	"ticketrail/queue/queuetest"
)

func TestPrintableIsOneShortLine(t *testing.T) {
	for text, want := range map[string]string{
		" a\tb\n\x1b]0;pwned\x07 Wartung\u202e ": "a b ]0;pwned Wartung",
		"caf\xe9 \x00\x9b1m":                     "caf\ufffd \ufffd1m",
		strings.Repeat("é", 101):                 strings.Repeat("é", 100) + "…",
		"":                                       "",
	} {
		if got := printable(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestShortSecretsAreNotRedacted(t *testing.T) {
	if got := string(redact([]byte("Ann Sanders, secret-1, token-2"), "an", "secret-1",
		"token-2")); got != "Ann Sanders, [secret], [secret]" {
		t.Error(got)
	}
}

func TestErrorTextIsFoundInEveryPlace(t *testing.T) {
	for body, want := range map[string]string{
		`{"error":{"code":"x","message":"no such venue"}}`: "no such venue",
		`{"error":"nope"}`:                    "nope",
		`{"message":"nope","code":7}`:         "nope",
		`{"status":"ERROR","code":7}`:         "7",
		`{"title":"Bad","detail":"very bad"}`: "very bad",
		`{"errors":[]}`:                       "",
		`{"message":`:                         "",
		`<h1>Scheduled maintenance</h1>`:      "",
		``:                                    "",
	} {
		s := &service{
			Me: func(w http.ResponseWriter, _ *http.Request) { http.Error(w, body, http.StatusUnprocessableEntity) },
		}
		_, err := client(t, s, nil).Venue(grill).Me(t.Context())
		if want != "" {
			want = fmt.Sprintf(": it says %q", want)
		}
		want = "the service answers 422 Unprocessable Entity" + want
		if e := problem(t, err); e.Problem != want || e.Status != 422 {
			t.Errorf("%s: %s, want %s", body, e.Problem, want)
		}
	}
}

func TestErrorTextIsQuotedInPlainWordsOnly(t *testing.T) {
	for text, want := range map[string]string{
		"Scheduled maintenance\x1b]0;pwned\x07 Wartung\u202e": "Scheduled …",
		"limit must be at most 100, and labor:read is needed (see above)!": "limit must be at most 100, " +
			"and labor:read is needed (see above)!",
		"token 2YotnFZFEjr1zCsicMWpAA of https://u:p@proxy is void": "token … of … is void",
		// however a token is encoded: escaped as JSON or for a URL, cut
		`token eyJhbG\/JIUz+abc\u003d is not valid`: "token … is not valid",
		"token eyJhbG%2FJIUz is not valid":          "token … is not valid",
		"Bearer abc/def and more":                   "Bearer … and more",
		"Zugriff für Küche verweigert":              "Zugriff für Küche verweigert",
		"caf\xe9 \x00\x9b1m":                        "",
		"here it is: [secret]":                      "here it is: …",
		strings.Repeat("é", 101):                    "",
		strings.Repeat("word ", 100):                strings.Repeat("word ", 40) + "…",
		"":                                          "",
		`{"errors":["nothing is known"]}`:           "… is …",
	} {
		if got := plainText(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestEscapedSecretIsRedactedWhereverItStands(t *testing.T) {
	const secret = `a/b+"Xq7\9z`
	for body, want := range map[string]string{
		`{"a":"a/b+\"Xq7\\9z"}`:                     `{"a":"[secret]"}`,
		`{"a\/b+\"Xq7\\9z":"\\","b":["é\u00e9"]}`:   `{"[secret]":"\\","b":["é\u00e9"]}`,
		`{"x":"\\\"","a":"\"\u0061/b+\"Xq7\\9z\\"}`: `{"x":"\\\"","a":"\"[secret]\\"}`,
		`<html>a/b+"Xq7\9z`:                         `<html>[secret]`,
	} {
		if got := string(redact([]byte(body), "another", secret)); got != want {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
}

func TestTokenThatIsAScopeTooIsNotShown(t *testing.T) {
	for _, status := range []int{http.StatusOK, http.StatusForbidden} {
		s := new(service)
		s.Token = func(w http.ResponseWriter, _ *http.Request) {
			answerJSON(w, fmt.Sprintf(`{"access_token":%[1]q,"scope":%[1]q}`, s.issue(grill)))
		}
		s.Me = func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(status)
			token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
			answerJSON(w, fmt.Sprintf(`{"scope":%q}`, token))
		}
		s.Employees = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }
		v := client(t, s, nil).Venue(grill)
		me, _ := v.Me(t.Context())
		_, err := names(v, t.Context())
		if !errors.Is(err, ErrForbidden) {
			t.Fatal(err)
		}
		assertNoSecret(t, s, "403", me, err)
	}
}

// echoes are answers that contain what the service was sent: echo is that in several encodings,
// quoted is echo as JSON.
var echoes = map[string]func(w http.ResponseWriter, token, echo, quoted string){
	"html":  func(w http.ResponseWriter, _, echo, _ string) { _, _ = w.Write([]byte("<html>" + echo)) },
	"plain": func(w http.ResponseWriter, _, echo, _ string) { http.Error(w, echo, http.StatusInternalServerError) },
	"envelope": func(w http.ResponseWriter, _, _, q string) {
		answerJSON(w, `{"status":`+q+`,"error":{"message":`+q+`}}`)
	},
	"no token": func(w http.ResponseWriter, _, _, q string) { answerJSON(w, `{"access_token":`+q+`}`) },
	"alone":    func(w http.ResponseWriter, token, _, _ string) { _, _ = w.Write([]byte(token)) },
	"message": func(w http.ResponseWriter, _, _, q string) {
		w.WriteHeader(http.StatusForbidden)
		answerJSON(w, `{"error":{"code":`+q+`,"message":`+q+`}}`)
	},
	"oauth": func(w http.ResponseWriter, _, _, q string) {
		w.WriteHeader(http.StatusBadRequest)
		answerJSON(w, `{"error":`+q+`,"error_description":`+q+`,"error_uri":`+q+`}`)
	},
	"redirect": func(w http.ResponseWriter, token, _, _ string) {
		w.Header().Set("Location", "https://"+url.UserPassword(theSecret, token).String()+"@x.example.com/"+
			url.PathEscape(theSecret)+"/"+token+"?t="+token)
		w.WriteHeader(http.StatusFound)
	},
	"redirect to nowhere": func(w http.ResponseWriter, token, _, _ string) {
		w.Header().Set("Location", "https://"+token+".example.com:x/\x7f")
		w.WriteHeader(http.StatusFound)
	},
	"headers": func(w http.ResponseWriter, token, echo, _ string) {
		for _, name := range []string{"Content-Type", "Retry-After", "Date", "Www-Authenticate", "X-Next-Cursor",
			"Set-Cookie"} {
			w.Header().Set(name, theSecret+token)
		}
		w.WriteHeader(http.StatusTooManyRequests)
	},
	"breaks off": func(w http.ResponseWriter, token, _, q string) {
		_, _ = w.Write([]byte(`{"access_token":"` + token + `","x":` + q[:len(q)-1]))
	},
	"breaks off in it": func(w http.ResponseWriter, token, _, _ string) {
		w.Header().Set("Content-Length", "5000")
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = w.Write([]byte("cannot take " + theSecret + " nor " + token[:max(0, len(token)-2)]))
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	},
	"no HTTP": func(w http.ResponseWriter, token, echo, _ string) {
		c, b, _ := http.NewResponseController(w).Hijack()
		_, _ = b.WriteString("HTTP/1.1 " + token + " " + theSecret + "\r\n" + theSecret + "\r\n\r\n")
		_ = b.Flush()
		_ = c.Close()
	},
	"values": func(w http.ResponseWriter, token, _, _ string) {
		q, _ := json.Marshal(theSecret + token)
		answerJSON(w, fmt.Sprintf(`{"status":"SUCCESS","venue_id":%[1]s,"scopes":[%[1]s],"records":[{"id":%[1]s,`+
			`"name":%[1]s,"payrollPeriodStartDateTime":%[1]s}],"access_token":%[1]s,"x":%[1]s}`, q))
	},
}

func TestSecretAndTokenAreNeverShown(t *testing.T) {
	for name, echo := range echoes {
		for _, place := range []string{"token", "api"} {
			for _, style := range []string{"params", AuthHeader} {
				synctest.Test(t, func(t *testing.T) { neverShown(t, place, name, style, echo) })
			}
		}
	}
}

func TestPrintingAClientOrVenueShowsNoToken(t *testing.T) {
	s := new(service)
	c := client(t, s, nil)
	if _, err := c.Venue(grill).Me(t.Context()); err != nil {
		t.Fatal(err)
	}
	assertNoSecret(t, s, "client", c, c.Venue(grill), []any{c.Venue(grill)}, struct{ v *Venue }{c.Venue(grill)})
}

// assertNoSecret looks for the secret and for each issued token, in several encodings, in
// everything that shown can be printed as.
func assertNoSecret(t *testing.T, s *service, where string, shown ...any) {
	t.Helper()
	words := []string{theSecret}
	for token := range s.issued {
		words = append(words, token)
	}
	for _, w := range slices.Clone(words) {
		quoted, _ := json.Marshal(w)
		words = append(words, string(quoted[1:len(quoted)-1]), url.QueryEscape(w), url.PathEscape(w),
			html.EscapeString(w), base64.StdEncoding.EncodeToString([]byte(w)), fmt.Sprintf("%x", w),
			fmt.Sprint([]byte(w)), w[:len(w)-3])
	}
	words = append(words, base64.StdEncoding.EncodeToString([]byte("kitchen:"+url.QueryEscape(theSecret))))
	var log bytes.Buffer
	for _, v := range shown {
		for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
			fmt.Fprintf(&log, format+"\n", v)
		}
		_ = json.NewEncoder(&log).Encode(v)
		slog.New(slog.NewJSONHandler(&log, nil)).Info("shown", "v", v)
		if err, ok := v.(error); ok {
			for err = errors.Unwrap(err); err != nil; err = errors.Unwrap(err) {
				fmt.Fprintf(&log, "%v %#v\n", err, err)
			}
		}
	}
	for _, w := range words {
		if i := strings.Index(log.String(), w); i >= 0 {
			t.Errorf("%s shows %q: …%.300s", where, w, log.String()[max(0, i-60):])
		}
	}
}

func neverShown(
	t *testing.T, place, name, style string, echo func(w http.ResponseWriter, token, echo, quoted string),
) {
	s := new(service)
	evil := func(w http.ResponseWriter, r *http.Request) {
		token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		if place == "token" {
			token = s.issue(grill) // one that the client does not have yet
		}
		all := []string{r.Header.Get("Authorization"), r.PostForm.Encode()}
		for _, w := range []string{theSecret, token} {
			all = append(all, w, url.QueryEscape(w), url.PathEscape(w), html.EscapeString(w),
				base64.StdEncoding.EncodeToString([]byte(w)), fmt.Sprintf("%x", w), w[:max(0, len(w)-3)])
		}
		text := strings.Join(all, " | ")
		quoted, _ := json.Marshal(text)
		echo(w, token, text, string(quoted))
	}
	if place == "token" {
		s.Token = evil
	} else {
		s.Me, s.Employees, s.Payroll = evil, evil, evil
	}
	log := new(queuetest.Log)
	logger := slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	c := client(t, nil,
		&Options{BaseURL: "http://localhost/api", Transport: overPipe(t, s), AuthStyle: style, Logger: logger})
	v := c.Venue(grill)
	me, err := v.Me(t.Context())
	p, err2 := v.PayrollPeriods(t.Context())
	options := c.o
	options.Transport, options.Logger, options.Metrics = nil, nil, nil // in use by others while they are printed
	shown := []any{v, options, me, string(me.Raw), p, err, err2}
	for e, err := range v.Employees(t.Context()) {
		shown = append(shown, e, err, string(e.Raw))
	}
	if fine := place == "api" && (name == "values" || name == "no token"); err == nil && !fine {
		t.Errorf("%s of %s: no error", name, place)
	}
	assertNoSecret(t, s, name+" of "+place, append(shown, log.String())...)
}
