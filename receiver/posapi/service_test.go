package posapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestRequestsAreAsTheContractSays(t *testing.T) {
	s := &service{
		Employees: func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Get("cursor") == "" {
				answerJSON(w,
					`{"records":[{"id":"A","name":"Ann B."}],"count":2,"status":"SUCCESS","nextCursor":"c/2"}`)
				return
			}
			answerJSON(w, list(2, `{"id":"B","name":"Bo C."}`))
		},
	}
	srv := httptest.NewServer(s)
	defer srv.Close()
	c := client(t, nil, &Options{BaseURL: srv.URL + "/api", Timeout: time.Minute})
	v := c.Venue(strings.ToUpper(grill))
	me, err := v.Me(t.Context())
	if err != nil || me.Venue != grill || len(me.Scopes) != 2 {
		t.Errorf("%+v, %v", me, err)
	}
	if got, err := names(v, t.Context()); err != nil || fmt.Sprint(got) != "[Ann B. Bo C.]" {
		t.Errorf("%v, %v", got, err)
	}
	if p, err := c.PayrollPeriods(t.Context(), grill); err != nil || len(p) != 0 {
		t.Errorf("%v, %v", p, err)
	}
	want := "[/api/me /api/v1/labor/employees /api/v1/labor/employees?cursor=c%2F2 " +
		"/api/v1/labor/payrollperiods?venueId=" + grill + "]"
	if got := fmt.Sprint(s.calls()); got != want || s.tokens() != 1 {
		t.Errorf("%d tokens, asked %s", s.tokens(), got)
	}
	form, _ := json.Marshal(s.forms[0])
	if want := `{"Authorization":null,"client_id":["kitchen"],"client_secret":["s3cr\u0026t/\"plan+ted\u003c\u003e"],` +
		`"grant_type":["client_credentials"],"venue_id":["` + grill + `"]}`; string(
		form,
	) != want {
		t.Errorf("token request %s", form)
	}
}

func TestBaseURLIsNotRepeated(t *testing.T) {
	if _, err := New(Options{BaseURL: "https://me:hunter2@pos.example.com:port"}); err == nil ||
		strings.Contains(err.Error(), "hunter2") {
		t.Error(err)
	}
}
