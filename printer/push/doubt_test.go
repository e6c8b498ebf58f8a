package push

import (
	"fmt"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
)

func TestWhatADisplayDoesIsDoubtUnlessItsAnswerIsClear(t *testing.T) {
	for name, c := range map[string]struct {
		want   string
		answer http.HandlerFunc
	}{
		"fails and says why":      {"doubt", status(http.StatusInternalServerError)},
		"hangs up":                {"doubt", raw("")},
		"breaks off":              {"doubt", raw("HTTP/1.1 200 OK\r\nContent-")},
		"speaks another protocol": {"doubt", raw("220 mail.example ESMTP\r\n")},
		"is silent":               {"doubt", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }},
		"says much": {"taken", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write(make([]byte, 1<<20))
		}},
		"refuses this ticket": {"refused", status(http.StatusUnprocessableEntity)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := serve(t, func(w http.ResponseWriter, r *http.Request) {
					_, _ = io.Copy(io.Discard, r.Body)
					c.answer(w, r)
				})
				var b beginCounter
				proof, err := p.Print(t.Context(), order(1, "Burger"), b.begin)
				if got := verdict(proof, err, b.times() > 0); got != c.want || b.times() != 1 {
					t.Errorf("%s after %d begins: %v, want %s", got, b.times(), err, c.want)
				}
			})
		})
	}
}

func TestNoTicketIsSentASecondTimeBecauseItsConnectionBroke(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		p := serve(t, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			if asked++; asked == 2 {
				raw("")(w, r)
			}
		})
		for _, want := range []string{"taken", "doubt"} {
			proof, err := p.Print(t.Context(), order(1, "Burger"), new(beginCounter).begin)
			if got := verdict(proof, err, true); got != want {
				t.Errorf("%s: %v, want %s", got, err, want)
			}
		}
		if asked != 2 {
			t.Errorf("asked %d times", asked)
		}
	})
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		fmt.Fprint(w, "because\nof this")
	}
}

// raw answers with these bytes and closes the connection.
func raw(answer string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		c, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			panic(err)
		}
		_, _ = io.WriteString(c, answer)
		_ = c.Close()
	}
}
