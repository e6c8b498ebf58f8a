package ticket

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestATicketSurvivesStorage(t *testing.T) {
	in := Ticket{
		Venue: "v", Device: "d", Request: "r", Number: "18", Table: "B10", Notes: []string{"now"},
		Received: time.Date(2026, 11, 20, 19, 30, 0, 0, time.UTC), Zone: "Australia/Melbourne",
		Lines:  []Line{{Quantity: "1", Name: "Crème brûlée", Notes: []string{"\x1b@"}, Void: true}},
		AlsoAt: []string{"bar"},
	}
	b, err := Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	out, err := Unmarshal(b)
	if err != nil {
		t.Fatal(err)
	}
	in.V = Version
	if d := cmp.Diff(in, out); d != "" {
		t.Error(d)
	}
}

func TestATicketOfANewerFormatIsRefused(t *testing.T) {
	if got, err := Unmarshal([]byte(`{"v":99,"venue":"v"}`)); err == nil || !cmp.Equal(got, Ticket{}) {
		t.Errorf("got %+v, %v; want an error and nothing else", got, err)
	}
}

// firstRelease is a ticket written by the first release. It must be readable for ever: never change this text.
const firstRelease = `{"v":1,"venue":"6f1c8f5e-52ad-4a0b-9e9b-2f7b7b7f3a11","venue_name":"Harbour Grill",` +
	`"device":"BW-E-Tablet-01","request":"r","record":"r","number":"18","table":"B10","server":"Ana G.",` +
	`"type":"Dine In","guests":"2","destination":"GRILL","course":"Entrees","notes":["n"],"void":true,"refire":true,` +
	`"received":"2026-11-20T08:30:00Z","zone":"Australia/Melbourne","lines":[{"d":1,"q":"2","n":"Burger","raw":true,` +
	`"notes":["x"],"seat":"1","course":"c","void":true,"refire":true,"no_route":true,"of":"p"}],"raw":"{}"}`

func TestTicketsOfTheFirstReleaseStayReadable(t *testing.T) {
	tk, err := Unmarshal([]byte(firstRelease))
	if err != nil {
		t.Fatal(err)
	}
	b, err := Marshal(tk)
	if err != nil {
		t.Fatal(err)
	}
	written := strings.Replace(firstRelease, `,"of":"p"`, "", 1) // nothing has it any more
	if d := cmp.Diff(written, string(b)); d != "" {
		t.Error(d)
	}
}

func TestATicketWithTheStationsAsEarlierVersionsStoredThemStaysReadable(t *testing.T) {
	got, err := Unmarshal([]byte(`{"v":1,"number":"18","also_at":[{"station":"bar"}]}`))
	if err != nil || got.Number != "18" {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestTheLaterVoidsOfEarlierVersionsAreRead(t *testing.T) {
	got, err := Unmarshal([]byte(`{"v":1,"later":["VOID at 19:40: job 13",{"job":14,"clock":"19:41"},{}]}`))
	want := []string{"VOID at 19:40: job 13", "VOID at 19:41: job 14", "VOID: more jobs"}
	if d := cmp.Diff(want, got.Later.Texts()); err != nil || d != "" {
		t.Error(err, d)
	}
}

func FuzzUnmarshal(f *testing.F) {
	f.Add([]byte(firstRelease))
	f.Add([]byte(`{"v":1}`))
	f.Add([]byte(`{"v":2}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		tk, err := Unmarshal(b)
		if err != nil {
			if !cmp.Equal(tk, Ticket{}) {
				t.Fatalf("error %v and a value %+v", err, tk)
			}
			return
		}
		again, err := Marshal(tk)
		if err != nil {
			return // a year that JSON cannot write
		}
		back, err := Unmarshal(again)
		if err != nil {
			t.Fatal(err)
		}
		third, err := Marshal(back)
		if err != nil || string(third) != string(again) {
			t.Fatalf("not stable: %s then %s (%v)", again, third, err)
		}
	})
}

func TestAnOutcomeIsFoundThroughWrapping(t *testing.T) {
	p := fmt.Errorf("print: %w", errors.Join(io.EOF, Permanent(io.ErrUnexpectedEOF)))
	if !IsPermanent(p) || IsNotReady(p) || !errors.Is(p, io.ErrUnexpectedEOF) {
		t.Errorf("%v is not permanent, or is not ready, or lost its cause", p)
	}
	if n := NotReady(io.EOF); !IsNotReady(n) || IsPermanent(n) || n.Error() != "EOF" {
		t.Errorf("%v is not what it was marked", n)
	}
	if u := Untouched(Permanent(io.EOF)); !IsUntouched(u) || !IsPermanent(u) || IsNotReady(u) {
		t.Errorf("%v is not both", u)
	}
	if n := NotReady(Untouched(io.EOF)); IsUntouched(n) { // who wraps it may know that more has happened
		t.Errorf("%v is untouched", n)
	}
	if IsPermanent(nil) || IsNotReady(io.EOF) {
		t.Error("an unmarked error carries a mark")
	}
}
